#include "sim/config/origins.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.h"

namespace rehearse {
namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn one name into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

void Origins::set(const std::string& path, TextPosition position) {
  places_[path] = source_ + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

void Origins::set(const std::string& path, const std::string& option) { places_[path] = option; }

std::string Origins::where(std::string path) const {
  while (!path.empty()) {
    const auto place = places_.find(path);
    if (place != places_.end()) return place->second;
    const std::size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return source_ + ":1:1";
}

void Origins::fail(const std::string& path, const std::string& what) const {
  const std::string place = where(path);
  const bool named = place.starts_with("--set " + path + "=");
  throw InputError(place + ": " + (named || path.empty() ? "" : path + ": ") + what);
}

std::string join_path(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::string closest;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < least) {
      least = distance;
      closest = candidate;
    }
  }
  if (!name.empty() && least <= std::max<std::size_t>(1, (name.size() + 1) / 3))
    return "did you mean '" + closest + "'?";
  std::string list = "allowed:";
  for (const std::string& candidate : candidates) list += (candidate == candidates.front() ? " " : ", ") + candidate;
  return list;
}

}  // namespace rehearse
