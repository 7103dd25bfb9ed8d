#include "sim/cluster/recovery_record.h"

#include <algorithm>

namespace rehearse {
namespace {

// A failure in words without the numbers of its messages, calls and times, which differ from one time to the next. Who
// failed stands before the colon.
std::string kind_of_failure(std::string cause) {
  const std::size_t colon = std::min(cause.find(':'), cause.size());
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  cause.erase(std::remove_if(cause.begin() + static_cast<std::ptrdiff_t>(colon), cause.end(), is_digit), cause.end());
  return cause;
}

}  // namespace

std::optional<std::int64_t> blamed_checkpoint(const RecoveryRecord& before, const RecoveryRecord& now) {
  const bool same = kind_of_failure(before.cause) == kind_of_failure(now.cause) && before.last_step == now.last_step;
  const bool loaded = before.from_checkpoint && before.resumed > before.failed;
  if (!same || !loaded) return std::nullopt;
  return before.resumed_step;
}

}  // namespace rehearse
