#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/runtime/tracer.h"

namespace rehearse {

// The operations of a storage.
enum class FileOperation : std::uint8_t {
  kWrite,
  kRead,
  kFsync,
  kFsyncDirectory,
  kRename,
  kRemove,
  kMakeDirectory,
  kList
};
const char* name_of(FileOperation operation);  // as in the messages of a StorageError: "fsync_directory"

// What a loss of power leaves of the operations that were not yet synced. A file system may persist them in any order
// and any subset; these are the corners of that set.
struct PowerLoss {
  // kAllTornOne: all survive, and of them `operation` alone is torn.
  enum class Survivors : std::uint8_t { kNone, kAll, kOnly, kAllBut, kAllTornOne };
  Survivors survivors = Survivors::kNone;
  std::size_t operation = 0;        // index into the unsynced operations, for all but kNone and kAll
  std::optional<Bytes> torn_after;  // surviving writes keep at most this many bytes; whole without it
};

// Whether a fault's pattern names the path: all of it, or its end after a '/'. '*' stands for any characters but '/',
// '**' for any. An empty pattern names every path.
bool names_path(std::string_view pattern, std::string_view path);

// [from, until), by simulated time or by steps: a step counts from the moment any rank begins it for the first time.
struct DiskWindow {
  std::optional<TimePoint> from;
  std::optional<TimePoint> until;
  std::int64_t from_step = 0;   // 0: from the start
  std::int64_t until_step = 0;  // 0: to the end
};

// Which operations.
struct OperationFilter {
  std::optional<FileOperation> operation;  // any without it
  std::optional<int> rank;                 // any without it
  std::string path;                        // pattern; a rename is named by either of its two names
  std::optional<int> local_disk;           // on the local disk of this rank; without it, on the storage that all share
};

// Operations of a storage that do not do what they should: from the n-th that the filter names within the window,
// `count` of them.
struct OperationFault {
  enum class Effect : std::uint8_t {
    kIoError,  // it fails; a write leaves an empty file, anything else has done nothing
    kNoSpace,  // the same, for want of space
    kTorn,     // a write keeps its first `keep` bytes and says that all is well
    kLost,     // an fsync says that all is well and makes nothing durable
  };
  Effect effect = Effect::kIoError;
  OperationFilter on;
  std::int64_t nth = 1;
  std::int64_t count = 1;  // 0: no end
  DiskWindow window;
  Bytes keep;
};

// Operations take numerator / denominator times as long.
struct SlowDiskFault {
  std::optional<int> rank;        // of all ranks without it
  std::optional<int> local_disk;  // as in OperationFilter
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  DiskWindow window;
};

// A rank reads and lists a directory, with all in it, as it was `delay` ago, but for what it changed itself.
struct StaleViewFault {
  int rank = 0;
  std::string path;  // pattern of the directory
  Duration delay;
  DiskWindow window;
};

// Something that happens to a disk at one moment.
struct DiskFault {
  enum class Kind : std::uint8_t {
    kRot,      // one bit at rest is inverted, in every file that `path` names and that is long enough
    kMissing,  // every file that `path` names vanishes
    kPower,    // the power of all hosts and disks goes, and comes back
  };
  Kind kind = Kind::kRot;
  // When: exactly one of the three.
  std::optional<TimePoint> time;
  std::optional<OperationFilter> after;  // at the end of the n-th of these
  std::int64_t nth = 1;
  int rank = 0;  // when this rank first begins the phase of the step; step 0: one of the others holds
  std::int64_t step = 0;
  Phase phase = Phase::kData;

  std::string path;               // pattern
  std::optional<int> local_disk;  // as in OperationFilter
  std::int64_t offset = 0;        // of the byte in the file
  int bit = 0;                    // 0 is the lowest
  PowerLoss loss;
};

// What goes wrong with files and disks.
struct StorageFaultPlan {
  std::vector<OperationFault> operations;
  std::vector<SlowDiskFault> slow;
  std::vector<StaleViewFault> stale;
  std::vector<DiskFault> disk;
  std::size_t size() const { return operations.size() + slow.size() + stale.size() + disk.size(); }
  bool empty() const { return size() == 0; }
};

// In words, for reports: "the 2nd fsync of */manifest.json fails".
std::string text_of(const OperationFault& fault);
std::string text_of(const SlowDiskFault& fault);
std::string text_of(const StaleViewFault& fault);
std::string text_of(const DiskFault& fault);

}  // namespace rehearse
