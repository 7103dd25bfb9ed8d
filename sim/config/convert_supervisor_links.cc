#include <string>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {

void convert_supervisor_links(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  const auto& list = message.faults().supervisor_link();
  for (int i = 0; i < list.size(); ++i) {
    const config::SupervisorLink& from = list.Get(i);
    const std::string path = "faults.supervisor_link[" + std::to_string(i) + "]";
    SupervisorLinkFault fault;
    if (from.has_rank()) {
      if (from.rank() >= scenario.known_ranks()) {
        origins.fail(path + ".rank", "found " + std::to_string(from.rank()) + "; allowed: " + scenario.allowed_ranks());
      }
      fault.rank = static_cast<int>(from.rank());
    }
    fault.to_supervisor = from.way() != config::SupervisorLink::FROM_SUPERVISOR;
    fault.from_supervisor = from.way() != config::SupervisorLink::TO_SUPERVISOR;
    if (from.has_from_time()) fault.from = TimePoint::at(parse_duration(from.from_time()));
    if (from.has_until_time()) {
      fault.until = TimePoint::at(parse_duration(from.until_time()));
      if (*fault.until <= fault.from) {
        origins.fail(
            path + ".until_time",
            "found \"" + from.until_time() + "\"; allowed: a time after " +
                (from.has_from_time() ? "from_time, which is \"" + from.from_time() + "\"" : std::string("the start")));
      }
    }
    if (from.has_delay()) fault.delay = parse_duration(from.delay());
    scenario.faults.supervisor_links.push_back(fault);
  }
}

}  // namespace rehearse
