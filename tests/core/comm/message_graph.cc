#include "tests/core/comm/message_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace rehearse {

void MessageGraph::add(int rank, int lane, Step step) {
  std::vector<Lane>& lanes = ranks_[static_cast<std::size_t>(rank)];
  if (lanes.size() <= static_cast<std::size_t>(lane)) lanes.resize(static_cast<std::size_t>(lane) + 1);
  lanes[static_cast<std::size_t>(lane)].push_back(step);
}

void MessageGraph::exchange(int rank, int to, std::int64_t bytes, int from, int channel, int lane) {
  add(rank, lane, Step{to, bytes, from, channel});
}
void MessageGraph::send(int rank, int to, std::int64_t bytes, int channel, int lane) {
  add(rank, lane, Step{to, bytes, -1, channel});
}
void MessageGraph::take(int rank, int from, int channel, int lane) { add(rank, lane, Step{-1, 0, from, channel}); }

std::vector<MessageGraph::Traffic> MessageGraph::traffic() const {
  std::vector<Traffic> all(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const Lane& lane : ranks_[rank]) {
      for (const Step& step : lane) {
        if (step.to < 0) continue;
        ++all[rank].messages_sent;
        all[rank].bytes_sent += step.bytes;
        Traffic& other = all[static_cast<std::size_t>(step.to)];
        ++other.messages_received;
        other.bytes_received += step.bytes;
      }
    }
  }
  return all;
}

bool MessageGraph::ends_where_sends_wait() const {
  struct Position {
    std::size_t next = 0;
    bool sent = false;
    bool taken = false;
  };
  std::vector<std::vector<Position>> positions;
  for (const std::vector<Lane>& lanes : ranks_) positions.emplace_back(lanes.size());
  const auto step_at = [&](std::size_t rank, std::size_t lane) -> const Step* {
    const std::size_t next = positions[rank][lane].next;
    return next < ranks_[rank][lane].size() ? &ranks_[rank][lane][next] : nullptr;
  };
  // Whether the step's message finds its receiver at the step that takes it.
  const auto meet = [&](std::size_t rank, const Step& step) {
    const auto to = static_cast<std::size_t>(step.to);
    for (std::size_t lane = 0; lane < positions[to].size(); ++lane) {
      const Step* other = step_at(to, lane);
      if (other == nullptr || positions[to][lane].taken || other->channel != step.channel) continue;
      if (other->from == static_cast<int>(rank)) return positions[to][lane].taken = true;
    }
    return false;
  };
  bool any = true;
  bool all = true;
  while (any) {
    any = false;
    all = true;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (std::size_t lane = 0; lane < ranks_[rank].size(); ++lane) {
        Position& here = positions[rank][lane];
        const Step* step = step_at(rank, lane);
        if (step == nullptr) continue;
        all = false;
        if (step->to >= 0 && !here.sent && meet(rank, *step)) any = here.sent = true;
        if ((step->to >= 0 && !here.sent) || (step->from >= 0 && !here.taken)) continue;
        here = Position{here.next + 1, false, false};
        any = true;
      }
    }
  }
  return all;
}

// Goes through three kinds of moments in the order of time: a step begins, a first byte is at its receiver's port, a
// message is there.
class MessageGraph::Evaluation {
 public:
  Evaluation(const MessageGraph& graph, const NetworkConfig& network, Ties ties)
      : graph_(graph),
        network_(network),
        later_(ties == Ties::kLaterFirst ? -1 : 1),
        ports_(graph.ranks_.size()),
        done_(graph.ranks_.size()) {
    for (std::size_t rank = 0; rank < graph.ranks_.size(); ++rank) {
      lanes_.emplace_back(graph.ranks_[rank].size());
    }
  }

  std::vector<Duration> run() {
    for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
      for (std::size_t lane = 0; lane < lanes_[rank].size(); ++lane) {
        at(Duration(), [this, rank, lane] { begin(rank, lane); });
      }
    }
    while (!moments_.empty()) {
      const Moment next = moments_.top();
      moments_.pop();
      now_ = next.time;
      next.what();
    }
    for (std::size_t rank = 0; rank < lanes_.size(); ++rank) {
      for (std::size_t lane = 0; lane < lanes_[rank].size(); ++lane) {
        EXPECT_EQ(lanes_[rank][lane].next, graph_.ranks_[rank][lane].size()) << "rank " << rank << " waits for ever";
      }
    }
    return done_;
  }

 private:
  struct Moment {
    Duration time;
    int order;
    std::function<void()> what;
    bool operator<(const Moment& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);  // the queue gives the largest
    }
  };
  struct Port {
    Duration send_free;
    Duration receive_free;
  };
  struct LaneState {
    std::size_t next = 0;  // the step that comes, or is under way
    Duration left;         // when what it sends has left
  };
  struct Channel {
    int there = 0;                                // messages that nobody has taken
    std::pair<std::size_t, std::size_t> waiting;  // rank and lane
    bool has_waiting = false;
  };

  void at(Duration time, std::function<void()> what) {
    moments_.push(Moment{time, later_ * ++moment_, std::move(what)});
  }

  void begin(std::size_t rank, std::size_t lane) {
    LaneState& state = lanes_[rank][lane];
    if (state.next == graph_.ranks_[rank][lane].size()) {
      done_[rank] = std::max(done_[rank], now_);
      return;
    }
    const Step& step = graph_.ranks_[rank][lane][state.next];
    state.left = now_;
    if (step.to >= 0) {
      const Duration transfer = transfer_time(Bytes(step.bytes), network_.bandwidth);
      const Duration start = std::max(now_, ports_[rank].send_free);
      ports_[rank].send_free = state.left = start + transfer;
      const int from = static_cast<int>(rank);
      at(start + network_.latency, [this, from, step, transfer] { arrive(from, step, transfer); });
    }
    if (step.from < 0) return end(rank, lane, state.left);
    Channel& channel = channels_[{step.from, static_cast<int>(rank), step.channel}];
    if (channel.there > 0) {
      --channel.there;
      return end(rank, lane, state.left);
    }
    channel.waiting = {rank, lane};
    channel.has_waiting = true;
  }

  void arrive(int from, const Step& step, Duration transfer) {
    Port& port = ports_[static_cast<std::size_t>(step.to)];
    port.receive_free = std::max(now_, port.receive_free) + transfer;
    const std::tuple<int, int, int> key(from, step.to, step.channel);
    at(port.receive_free, [this, key] { deliver(channels_[key]); });
  }

  void deliver(Channel& channel) {
    if (!channel.has_waiting) {
      ++channel.there;
      return;
    }
    channel.has_waiting = false;
    const auto [rank, lane] = channel.waiting;
    end(rank, lane, std::max(now_, lanes_[rank][lane].left));
  }

  void end(std::size_t rank, std::size_t lane, Duration time) {
    ++lanes_[rank][lane].next;
    at(time, [this, rank, lane] { begin(rank, lane); });
  }

  const MessageGraph& graph_;
  const NetworkConfig& network_;
  int later_;
  std::vector<std::vector<LaneState>> lanes_;
  std::vector<Port> ports_;
  std::vector<Duration> done_;
  std::map<std::tuple<int, int, int>, Channel> channels_;
  std::priority_queue<Moment> moments_;
  Duration now_;
  int moment_ = 0;
};

std::vector<Duration> MessageGraph::finished(const NetworkConfig& network, Ties ties) const {
  return Evaluation(*this, network, ties).run();
}

}  // namespace rehearse
