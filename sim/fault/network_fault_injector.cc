#include "sim/fault/network_fault_injector.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/numbers.h"

namespace rehearse {
namespace {

std::string decimal_of(std::int64_t ppb, std::int64_t one) {
  return shortest_text(static_cast<double>(ppb) / static_cast<double>(one));
}

// What goes over the links, of which a part is struck: "1 % of the messages on link 1 -> 2".
std::string part_of(const NetworkFault& fault) {
  const StrikeRule& rule = fault.strikes;
  std::string text =
      rule.probability_ppb.has_value() ? decimal_of(*rule.probability_ppb, kWholePpb / 100) + " % of " : "";
  switch (rule.of) {
    case PacketChoice::kMessages:
      text += "the messages";
      break;
    case PacketChoice::kAcks:
      text += "the acknowledgements";
      break;
    case PacketChoice::kAll:
      text += "the messages and acknowledgements";
      break;
  }
  return text + " on " + text_of(fault.links);
}

// What a message that is struck is.
std::string fate_text(const NetworkFault& fault) {
  switch (fault.kind) {
    case NetworkFaultKind::kLoss:
      return "lost";
    case NetworkFaultKind::kDuplicate:
      return "doubled";
    case NetworkFaultKind::kReorder:
      return "set aside for " + to_string(fault.by);
    case NetworkFaultKind::kDelay:
      return "delayed by " + to_string(fault.by);
    case NetworkFaultKind::kCorrupt:
      return "changed in one bit";
    default:
      check_failed(__FILE__, __LINE__, "a fault that strikes no single message");
  }
}

std::string begin_text(const NetworkFault& fault) {
  const std::string links = text_of(fault.links);
  switch (fault.kind) {
    case NetworkFaultKind::kLinkDown:
      return links + " goes down";
    case NetworkFaultKind::kPartition:
      return "the network parts: " + links + " go down";
    case NetworkFaultKind::kBandwidth:
      return links + " has " + decimal_of(fault.bandwidth_ppb, kWholePpb) + " of its bandwidth";
    case NetworkFaultKind::kLatency: {
      std::string text = links + " takes " + to_string(fault.by) + " longer";
      if (fault.jitter > Duration()) text += ", and up to " + to_string(fault.jitter) + " more at random";
      return text;
    }
    default:
      return "from now on, " + part_of(fault) + " are " + fate_text(fault);
  }
}

std::string end_text(const NetworkFault& fault) {
  const std::string links = text_of(fault.links);
  switch (fault.kind) {
    case NetworkFaultKind::kLinkDown:
      return links + " comes up again";
    case NetworkFaultKind::kPartition:
      return "the network heals: " + links + " come up again";
    case NetworkFaultKind::kBandwidth:
      return links + " has its whole bandwidth again";
    case NetworkFaultKind::kLatency:
      return links + " is as quick as before";
    default:
      return "no longer are " + part_of(fault) + " " + fate_text(fault);
  }
}

}  // namespace

NetworkFaultInjector::NetworkFaultInjector(const NetworkFaultPlan& plan, const RandomStream& stream, Hooks hooks)
    : plan_(plan), hooks_(std::move(hooks)), told_(plan.faults.size(), Told::kNothing) {
  for (const NetworkFault& fault : plan.faults) {
    // By kind and place among its kind, so that another fault does not shift its draws.
    streams_.push_back(stream.fork(name_of(fault.kind)).fork(static_cast<std::uint64_t>(fault.index)));
  }
  progress_.faults.resize(plan.faults.size());
}

void NetworkFaultInjector::start(Kernel& kernel, bool continued) {
  CHECK(kernel_ == nullptr);
  kernel_ = &kernel;
  continued_ = continued;
  std::vector<TimePoint> times;
  for (const NetworkFault& fault : plan_.faults) {
    if (fault.is_told_by_message() || (continued && fault.window.has_time())) continue;
    if (fault.window.from_step == 0) times.push_back(fault.window.from_time.value_or(TimePoint()));
    if (fault.window.until_time.has_value()) times.push_back(*fault.window.until_time);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  for (const TimePoint time : times) kernel.schedule_background(time, this, 0);
}

void NetworkFaultInjector::on_event(std::uint64_t) {
  if (kernel_->is_heard()) kernel_->record(EventRecord(EventKind::kFaultDue));
  tell(kernel_->now());
}

std::vector<std::int64_t> NetworkFaultProgress::numbers() const {
  std::vector<std::int64_t> all = {newest_step};
  for (const Counts& fault : faults) all.insert(all.end(), {fault.seen, fault.struck});
  return all;
}

NetworkFaultProgress NetworkFaultProgress::of(const std::vector<std::int64_t>& numbers) {
  CHECK_EQ(numbers.size() % 2, 1U);
  NetworkFaultProgress progress;
  progress.newest_step = numbers[0];
  for (std::size_t i = 1; i < numbers.size(); i += 2) progress.faults.push_back(Counts{numbers[i], numbers[i + 1]});
  return progress;
}

void NetworkFaultInjector::strike(const TrainMoment& moment, const StateMemory& memory) {
  if (kernel_ != nullptr && moment.step > progress_.newest_step && moment.phase == Phase::kData) {
    progress_.newest_step = moment.step;
    tell(kernel_->now());
  }
  if (hooks_.next != nullptr) hooks_.next->strike(moment, memory);
}

void NetworkFaultInjector::set_progress(const NetworkFaultProgress& progress) {
  CHECK_EQ(progress.faults.size(), plan_.faults.size());
  progress_ = progress;
}

bool NetworkFaultInjector::is_in_force(const NetworkFault& fault, TimePoint now) const {
  const FaultWindow& window = fault.window;
  if (continued_ && window.has_time()) return false;
  return (!window.from_time.has_value() || now >= *window.from_time) &&
         (!window.until_time.has_value() || now < *window.until_time) && progress_.newest_step >= window.from_step &&
         (!window.until_step.has_value() || progress_.newest_step < *window.until_step);
}

void NetworkFaultInjector::tell(TimePoint now) {
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const NetworkFault& fault = plan_.faults[i];
    if (fault.is_told_by_message()) continue;
    const bool in_force = is_in_force(fault, now);
    if (in_force && told_[i] == Told::kNothing) {
      told_[i] = Told::kBegin;
      hooks_.on_fault(begin_text(fault));
    } else if (!in_force && told_[i] == Told::kBegin) {
      told_[i] = Told::kEnd;
      hooks_.on_fault(end_text(fault));
    }
  }
}

RandomStream NetworkFaultInjector::draw_of(std::size_t index, const LinkPacket& packet, std::uint64_t number,
                                           const char* what) const {
  return streams_[index]
      .fork(what)
      .fork(static_cast<std::uint64_t>(packet.source))
      .fork(static_cast<std::uint64_t>(packet.destination))
      .fork(number);
}

bool NetworkFaultInjector::draws(std::size_t index, const LinkPacket& packet, std::uint64_t number) const {
  const StrikeRule& rule = plan_.faults[index].strikes;
  if (!rule.probability_ppb.has_value()) return true;
  return draw_of(index, packet, number, "strike")
      .chance(static_cast<std::uint64_t>(*rule.probability_ppb), static_cast<std::uint64_t>(kWholePpb));
}

PacketFate NetworkFaultInjector::fate_of(const LinkPacket& packet, TimePoint now) {
  PacketFate fate;
  const std::uint64_t number = numbers_[{packet.source, packet.destination}]++;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const NetworkFault& fault = plan_.faults[i];
    if (!fault.links.has(packet.source, packet.destination) || !is_in_force(fault, now)) continue;
    if (!fault.strikes_single_messages()) {
      apply(i, packet, number, fate);
      continue;
    }
    const StrikeRule& rule = fault.strikes;
    if (rule.of != PacketChoice::kAll && (rule.of == PacketChoice::kAcks) != packet.is_ack) continue;
    // What has no payload has no bit of it.
    if (fault.kind == NetworkFaultKind::kCorrupt && !packet.is_ack && packet.size == Bytes()) continue;
    NetworkFaultProgress::Counts& counts = progress_.faults[i];
    ++counts.seen;
    if (fate.path.lost || counts.seen < rule.first || (rule.count.has_value() && counts.struck >= *rule.count) ||
        !draws(i, packet, number)) {
      continue;
    }
    ++counts.struck;
    apply(i, packet, number, fate);
    if (fault.is_told_by_message()) {
      hooks_.on_fault(std::string(packet.is_ack ? "an acknowledgement" : "a message") + " from rank " +
                      std::to_string(packet.source) + " to rank " + std::to_string(packet.destination) + " is " +
                      fate_text(fault));
    }
  }
  return fate;
}

void NetworkFaultInjector::apply(std::size_t index, const LinkPacket& packet, std::uint64_t number,
                                 PacketFate& fate) const {
  const NetworkFault& fault = plan_.faults[index];
  switch (fault.kind) {
    case NetworkFaultKind::kLinkDown:
    case NetworkFaultKind::kPartition:
    case NetworkFaultKind::kLoss:
      fate.path.lost = true;
      return;
    case NetworkFaultKind::kBandwidth: {
      const __int128 product = static_cast<__int128>(fate.path.bandwidth_ppb) * fault.bandwidth_ppb / kWholePpb;
      fate.path.bandwidth_ppb = std::max<std::int64_t>(1, static_cast<std::int64_t>(product));
      return;
    }
    case NetworkFaultKind::kLatency:
      fate.path.added = fate.path.added + fault.by;
      if (fault.jitter > Duration()) {
        const auto most = static_cast<std::uint64_t>(fault.jitter.ps());
        const std::uint64_t drawn = draw_of(index, packet, number, "jitter").below(most + 1);
        fate.path.added = fate.path.added + Duration::picoseconds(static_cast<std::int64_t>(drawn));
      }
      return;
    case NetworkFaultKind::kDuplicate:
      fate.path.copied = true;
      fate.path.copy_after = std::max(fate.path.copy_after, fault.by);
      return;
    case NetworkFaultKind::kReorder:
      fate.path.aside = fate.path.aside + fault.by;
      return;
    case NetworkFaultKind::kDelay:
      fate.delayed = true;
      fate.path.added = fate.path.added + fault.by;
      return;
    case NetworkFaultKind::kCorrupt:
      fate.corrupted = true;
      if (!packet.is_ack) {
        fate.bit = draw_of(index, packet, number, "bit").below(8 * static_cast<std::uint64_t>(packet.size.count()));
      }
      return;
  }
}

std::vector<std::string> NetworkFaultInjector::not_struck() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < plan_.faults.size(); ++i) {
    const NetworkFault& fault = plan_.faults[i];
    const std::string name = std::string(name_of(fault.kind)) + " on " + text_of(fault.links);
    if (fault.is_told_by_message()) {
      if (progress_.faults[i].struck == 0) texts.push_back(name + ": no such message was sent");
    } else if (told_[i] == Told::kNothing) {
      texts.push_back(name + (continued_ && fault.window.has_time()
                                  ? ": its window is of time, and a continued run has a clock of its own"
                                  : ": its window never began"));
    }
  }
  return texts;
}

}  // namespace rehearse
