#include <algorithm>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

std::int64_t billionths(double value, const std::string& path, const Origins& origins) {
  const std::optional<std::int64_t> exact = to_billionths(value);
  if (!exact) origins.fail(path, "found more than 9 decimals; allowed: at most 9");
  return *exact;
}

TransportConfig convert_transport(const config::Transport& transport, const Origins& origins) {
  const std::string path = "cluster.network.transport";
  TransportConfig out;
  if (transport.has_retransmission_timeout()) {
    out.retransmission_timeout = parse_duration(transport.retransmission_timeout());
  }
  out.backoff_ppb = billionths(transport.backoff(), path + ".backoff", origins);
  out.max_timeout = parse_duration(transport.max_timeout());
  out.max_retries = static_cast<int>(transport.max_retries());
  out.checksums = transport.checksums();
  return out;
}

// Reads the faults of one scenario, each at its place.
class Converter {
 public:
  Converter(const Origins& origins, Scenario& scenario) : origins_(origins), scenario_(scenario) {}

  // Every one of a kind: `rest(message, path, fault)` reads what only this kind has.
  template <class List, class Rest>
  void convert(NetworkFaultKind kind, const List& list, Rest rest) {
    for (int i = 0; i < list.size(); ++i) {
      const std::string path = "faults." + std::string(name_of(kind)) + "[" + std::to_string(i) + "]";
      NetworkFault fault;
      fault.kind = kind;
      fault.index = i;
      convert_window(list.Get(i), path, fault.window);
      rest(list.Get(i), path, fault);
      scenario_.faults.network.faults.push_back(std::move(fault));
    }
  }

  template <class Message>
  void convert_links(const Message& message, const std::string& path, LinkChoice& links) const {
    if (message.has_from()) links.from = rank(message.from(), path + ".from");
    if (message.has_to()) links.to = rank(message.to(), path + ".to");
    if (message.has_from() && message.has_to() && links.from == links.to) {
      origins_.fail(path + ".to", "found " + std::to_string(links.to) +
                                      ", the rank that the link comes from; allowed: another, as no rank has a link to "
                                      "itself");
    }
    links.both_ways = message.both_ways();
  }

  void convert_sets(const config::Partition& partition, const std::string& path, LinkChoice& links) const {
    links.both_ways = !partition.one_way();
    links.from_set = ranks(partition.a(), path + ".a");
    links.to_set = ranks(partition.b(), path + ".b");
    if (links.from_set.empty()) origins_.fail(path, "says no rank on the one side; allowed: a: RANK, once or more");
    for (std::size_t i = 0; i < links.to_set.size(); ++i) {
      if (!contains(links.from_set, links.to_set[i])) continue;
      origins_.fail(path + ".b[" + std::to_string(i) + "]",
                    "found rank " + std::to_string(links.to_set[i]) + ", which is in a; allowed: a rank on one side");
    }
    if (!links.to_set.empty()) return;
    for (int rank = 0; rank < scenario_.known_ranks(); ++rank) {
      if (!contains(links.from_set, rank)) links.to_set.push_back(rank);
    }
    if (links.to_set.empty()) origins_.fail(path, "has every rank in a; allowed: at least one on the other side");
  }

  template <class Message>
  void convert_strikes(const Message& message, const std::string& path, NetworkFault& fault) const {
    StrikeRule& rule = fault.strikes;
    rule.first = message.message();
    if (message.has_probability()) {
      rule.probability_ppb = billionths(message.probability(), path + ".probability", origins_);
    } else {
      rule.count = 1;
    }
    if (message.has_count()) rule.count = message.count();
    rule.of = message.has_probability() ? PacketChoice::kAll : PacketChoice::kMessages;
    if (!message.has_of()) return;
    switch (message.of()) {
      case config::MESSAGES:
        rule.of = PacketChoice::kMessages;
        return;
      case config::ACKS:
        rule.of = PacketChoice::kAcks;
        return;
      case config::ALL:
        rule.of = PacketChoice::kAll;
        return;
    }
    check_failed(__FILE__, __LINE__, "packets that the schema does not have");
  }

 private:
  static bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }

  int rank(std::int64_t number, const std::string& path) const {
    if (number >= scenario_.known_ranks()) {
      origins_.fail(path, "found " + std::to_string(number) + "; allowed: " + scenario_.allowed_ranks());
    }
    return static_cast<int>(number);
  }

  template <class Numbers>
  std::vector<int> ranks(const Numbers& numbers, const std::string& path) const {
    std::vector<int> out;
    for (int i = 0; i < numbers.size(); ++i) {
      const std::string place = path + "[" + std::to_string(i) + "]";
      const int one = rank(numbers.Get(i), place);
      if (contains(out, one)) {
        origins_.fail(place, "found rank " + std::to_string(one) + " a second time; allowed: once");
      }
      out.push_back(one);
    }
    return out;
  }

  void check_step(std::int64_t step, const std::string& path) const {
    if (step <= scenario_.train.steps) return;
    origins_.fail(path, "found " + std::to_string(step) + "; allowed: a step of the run, 1 to train.steps, which is " +
                            std::to_string(scenario_.train.steps));
  }

  template <class Message>
  void convert_window(const Message& message, const std::string& path, FaultWindow& window) const {
    if (message.has_from_time()) window.from_time = TimePoint::at(parse_duration(message.from_time()));
    if (message.has_until_time()) window.until_time = TimePoint::at(parse_duration(message.until_time()));
    if (message.has_from_step()) {
      check_step(message.from_step(), path + ".from_step");
      window.from_step = message.from_step();
    }
    if (message.has_until_step()) {
      check_step(message.until_step(), path + ".until_step");
      window.until_step = message.until_step();
      if (*window.until_step <= window.from_step) {
        origins_.fail(path + ".until_step", "found " + std::to_string(*window.until_step) +
                                                "; allowed: a step after from_step, which is " +
                                                std::to_string(window.from_step));
      }
    }
    if (window.until_time && *window.until_time <= window.from_time.value_or(TimePoint())) {
      origins_.fail(path + ".until_time",
                    "found \"" + message.until_time() + "\"; allowed: a time after " +
                        (message.has_from_time() ? "from_time, which is \"" + message.from_time() + "\""
                                                 : std::string("the start")));
    }
  }

  const Origins& origins_;
  Scenario& scenario_;
};

}  // namespace

void convert_network_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const config::Faults& faults = message.faults();
  Converter converter(origins, scenario);
  const auto links = [&](const auto& one, const std::string& path, NetworkFault& fault) {
    converter.convert_links(one, path, fault.links);
  };
  const auto strikes = [&](const auto& one, const std::string& path, NetworkFault& fault) {
    converter.convert_links(one, path, fault.links);
    converter.convert_strikes(one, path, fault);
  };
  converter.convert(NetworkFaultKind::kLinkDown, faults.link_down(), links);
  converter.convert(NetworkFaultKind::kPartition, faults.partition(),
                    [&](const config::Partition& one, const std::string& path, NetworkFault& fault) {
                      converter.convert_sets(one, path, fault.links);
                    });
  converter.convert(NetworkFaultKind::kBandwidth, faults.link_bandwidth(),
                    [&](const config::LinkBandwidth& one, const std::string& path, NetworkFault& fault) {
                      links(one, path, fault);
                      fault.bandwidth_ppb = billionths(one.factor(), path + ".factor", origins);
                    });
  converter.convert(NetworkFaultKind::kLatency, faults.link_latency(),
                    [&](const config::LinkLatency& one, const std::string& path, NetworkFault& fault) {
                      links(one, path, fault);
                      fault.by = parse_duration(one.added());
                      fault.jitter = parse_duration(one.jitter());
                      if (fault.by == Duration() && fault.jitter == Duration()) {
                        origins.fail(path, "adds nothing; allowed: added, jitter or both");
                      }
                    });
  converter.convert(NetworkFaultKind::kLoss, faults.loss(), strikes);
  converter.convert(NetworkFaultKind::kDuplicate, faults.duplicate(),
                    [&](const config::Duplicate& one, const std::string& path, NetworkFault& fault) {
                      strikes(one, path, fault);
                      fault.by = parse_duration(one.after());
                    });
  converter.convert(NetworkFaultKind::kReorder, faults.reorder(),
                    [&](const config::Reorder& one, const std::string& path, NetworkFault& fault) {
                      strikes(one, path, fault);
                      fault.by = parse_duration(one.by());
                    });
  converter.convert(NetworkFaultKind::kDelay, faults.delay(),
                    [&](const config::Delay& one, const std::string& path, NetworkFault& fault) {
                      strikes(one, path, fault);
                      fault.by = parse_duration(one.by());
                    });
  converter.convert(NetworkFaultKind::kCorrupt, faults.corrupt(), strikes);

  check_links_can_fail(message, origins, scenario);
  if (message.cluster().network().has_transport()) {
    scenario.transport = convert_transport(message.cluster().network().transport(), origins);
  } else if (scenario.faults.network.needs_transport()) {
    scenario.transport = convert_transport(config::Transport::default_instance(), origins);
  }
}

}  // namespace rehearse
