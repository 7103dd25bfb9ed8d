#include "tools/rehearse/stragglers_json.h"

#include <utility>

namespace rehearse {

void add_stragglers(const std::vector<StruckLemon>& lemons, const Stragglers& stragglers, Json& json) {
  for (const StruckLemon& lemon : lemons) {
    Json one;
    one["name"] = lemon.name;
    one["first_rank"] = lemon.ranks.first;
    one["ranks"] = lemon.ranks.count;
    one["failures"] = lemon.failures;
    one["of"] = lemon.of;
    one["rate_factor"] = json_number(lemon.factor);
    json["lemons"].push_back(std::move(one));
  }
  for (const SlowRank& slow : stragglers.ranks) {
    Json one;
    one["rank"] = slow.rank;
    one["compute_seconds_per_step"] = seconds_of(slow.compute);
    one["factor_over_median"] = json_number(slow.factor);
    json["slow_ranks"].push_back(std::move(one));
  }
  for (const SlowLink& slow : stragglers.links) {
    Json one;
    one["from"] = slow.source;
    one["to"] = slow.destination;
    one["factor"] = json_number(slow.factor);
    json["slow_links"].push_back(std::move(one));
  }
}

}  // namespace rehearse
