#include "sim/fault/storage_faults.h"

#include "core/base/check.h"

namespace rehearse {
namespace {

// The whole text by the whole pattern.
bool matches(std::string_view pattern, std::string_view text) {
  // Whether what was read of the pattern can stand for the first n characters of the text.
  std::vector<bool> stands_for(text.size() + 1, false);
  stands_for[0] = true;
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      const bool crosses = pattern.starts_with("**");
      for (std::size_t n = 0; n < text.size(); ++n) {
        if (stands_for[n] && (crosses || text[n] != '/')) stands_for[n + 1] = true;
      }
      pattern.remove_prefix(crosses ? 2 : 1);
      continue;
    }
    for (std::size_t n = text.size(); n > 0; --n) stands_for[n] = stands_for[n - 1] && text[n - 1] == pattern[0];
    stands_for[0] = false;
    pattern.remove_prefix(1);
  }
  return stands_for[text.size()];
}

std::string ordinal(std::int64_t n) {
  const bool teen = n / 10 % 10 == 1;
  const char* ending = teen ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return std::to_string(n) + ending;
}

std::string on_disk(const std::optional<int>& local_disk) {
  return local_disk ? " on the local disk of rank " + std::to_string(*local_disk) : std::string();
}

std::string text_of(const OperationFilter& on, std::int64_t nth) {
  std::string text = ordinal(nth) + " " + (on.operation ? name_of(*on.operation) : "operation");
  if (!on.path.empty()) text += " of " + on.path;
  if (on.rank) text += " by rank " + std::to_string(*on.rank);
  return text + on_disk(on.local_disk);
}

}  // namespace

const char* name_of(FileOperation operation) {
  switch (operation) {
    case FileOperation::kWrite:
      return "write";
    case FileOperation::kRead:
      return "read";
    case FileOperation::kFsync:
      return "fsync";
    case FileOperation::kFsyncDirectory:
      return "fsync_directory";
    case FileOperation::kRename:
      return "rename";
    case FileOperation::kRemove:
      return "remove";
    case FileOperation::kMakeDirectory:
      return "make_directory";
    case FileOperation::kList:
      return "list";
  }
  check_failed(__FILE__, __LINE__, "unknown operation of a storage");
}

bool names_path(std::string_view pattern, std::string_view path) {
  if (pattern.empty() || matches(pattern, path)) return true;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    if (matches(pattern, path.substr(slash + 1))) return true;
  }
  return false;
}

std::string text_of(const OperationFault& fault) {
  const std::string which = "the " + text_of(fault.on, fault.nth);
  switch (fault.effect) {
    case OperationFault::Effect::kIoError:
      return "the I/O error in " + which;
    case OperationFault::Effect::kNoSpace:
      return "the full disk at " + which;
    case OperationFault::Effect::kTorn:
      return "the tear of " + which;
    case OperationFault::Effect::kLost:
      return "the loss of " + which;
  }
  check_failed(__FILE__, __LINE__, "unknown effect of a storage fault");
}

std::string text_of(const SlowDiskFault& fault) {
  if (fault.local_disk) return "the slow local disk of rank " + std::to_string(*fault.local_disk);
  return "the slow disk" + (fault.rank ? " of rank " + std::to_string(*fault.rank) : std::string());
}

std::string text_of(const StaleViewFault& fault) {
  return "the stale view of rank " + std::to_string(fault.rank) + (fault.path.empty() ? "" : " of " + fault.path);
}

std::string text_of(const DiskFault& fault) {
  std::string text = "the loss of power";
  if (fault.kind == DiskFault::Kind::kRot) {
    text = "the rot of byte " + std::to_string(fault.offset) + " of " + fault.path + on_disk(fault.local_disk);
  } else if (fault.kind == DiskFault::Kind::kMissing) {
    text = "the loss of " + fault.path + on_disk(fault.local_disk);
  }
  if (fault.time) return text + " at " + to_string(fault.time->since_start());
  if (fault.after) return text + " after the " + text_of(*fault.after, fault.nth);
  return text + " at rank " + std::to_string(fault.rank) + ", step " + std::to_string(fault.step) + ", " +
         name_of(fault.phase);
}

}  // namespace rehearse
