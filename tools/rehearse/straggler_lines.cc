#include "tools/rehearse/straggler_lines.h"

#include <algorithm>
#include <functional>

#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

// Of each kind; what is left out is counted.
constexpr std::size_t kShown = 5;

template <class One>
std::string lines_of(const std::vector<One>& all, const char* many,
                     const std::function<std::string(const One&)>& text) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kShown); ++i) out += wrapped(text(all[i]), "  ", kReportColumns);
  if (all.size() > kShown) out += "  and " + std::to_string(all.size() - kShown) + " more " + many + "\n";
  return out;
}

std::string lemon_line(const StruckLemon& lemon) {
  return "a lemon: " + lemon.name + " failed " + grouped(lemon.failures) + " of " + grouped(lemon.of) +
         (lemon.of == 1 ? " time" : " times") + "; its rate is " + significant(lemon.factor, 3) +
         " times that of the others";
}

std::string rank_line(const SlowRank& slow) {
  return "a straggler: rank " + std::to_string(slow.rank) + " computes " + significant(slow.factor, 3) +
         " times as long as the median rank, " + to_string(slow.compute) + " a step";
}

std::string link_line(const SlowLink& slow) {
  return "a slow link: messages from rank " + std::to_string(slow.source) + " to rank " +
         std::to_string(slow.destination) + " took " + significant(slow.factor, 3) + " times as long as they should";
}

}  // namespace

std::string straggler_lines(const std::vector<StruckLemon>& lemons, const Stragglers& stragglers, const Style& style) {
  if (lemons.empty() && stragglers.empty()) return "";
  return section_title("Lemons and stragglers", style) + lines_of<StruckLemon>(lemons, "lemons", lemon_line) +
         lines_of<SlowRank>(stragglers.ranks, "slow ranks", rank_line) +
         lines_of<SlowLink>(stragglers.links, "slow links", link_line);
}

}  // namespace rehearse
