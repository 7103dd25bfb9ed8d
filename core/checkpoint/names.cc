#include "core/checkpoint/names.h"

#include <algorithm>
#include <charconv>

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr std::string_view kShard = "shard_";
constexpr std::string_view kStep = "step_";
constexpr std::string_view kBuilding = ".building-";
constexpr std::string_view kDeleting = ".deleting-";
constexpr std::string_view kReplaced = ".replaced-";

std::string padded(std::int64_t number, std::size_t digits) {
  CHECK_GE(number, 0);
  std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

// The number that begins the text; nothing where none does.
std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::string shard_file_name(std::int64_t rank) { return std::string(kShard) + padded(rank, 5) + ".safetensors"; }

std::optional<std::int64_t> rank_of_shard_file(std::string_view name) {
  if (!name.starts_with(kShard)) return std::nullopt;
  const std::optional<std::int64_t> rank = leading_number(name.substr(kShard.size()));
  if (!rank || shard_file_name(*rank) != name) return std::nullopt;  // one spelling a rank
  return rank;
}

std::string step_directory_name(std::int64_t step) { return std::string(kStep) + padded(step, 6); }

std::optional<std::int64_t> step_of_directory(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  const std::optional<std::int64_t> step = leading_number(name.substr(kStep.size()));
  if (!step || step_directory_name(*step) != name) return std::nullopt;  // one spelling a step
  return step;
}

std::string building_directory_name(std::int64_t step, std::uint32_t generation) {
  return std::string(kBuilding) + "g" + std::to_string(generation) + "-" + step_directory_name(step);
}
std::string deleting_directory_name(std::int64_t step) { return std::string(kDeleting) + step_directory_name(step); }
std::string replaced_directory_name(std::int64_t step) { return std::string(kReplaced) + step_directory_name(step); }

std::optional<TemporaryName> temporary_of(std::string_view name) {
  TemporaryName temporary;
  if (name.starts_with(kBuilding)) {
    const std::size_t dash = name.find('-', kBuilding.size());
    if (dash == std::string_view::npos) return std::nullopt;
    name.remove_prefix(dash + 1);
  } else if (name.starts_with(kDeleting)) {
    temporary.kind = TemporaryKind::kDeleting;
    name.remove_prefix(kDeleting.size());
  } else if (name.starts_with(kReplaced)) {
    temporary.kind = TemporaryKind::kReplaced;
    name.remove_prefix(kReplaced.size());
  } else {
    return std::nullopt;
  }
  const auto step = step_of_directory(name);
  if (!step) return std::nullopt;
  temporary.step = *step;
  return temporary;
}

std::string input_copy_name(std::int64_t index, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::string(kInputsDirectory) + "/" + padded(index, 2) + "_" + std::string(last);
}

}  // namespace rehearse
