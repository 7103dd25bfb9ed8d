#pragma once

#include <string>
#include <vector>

namespace rehearse::testing_command {

// A call that changed the names on a disk or made them durable.
struct DiskOperation {
  enum class Kind { kMakeDirectory, kRename, kRemove, kSync };
  Kind kind = Kind::kSync;
  std::string path;
  std::string to;  // of a rename
};

// Sees every mkdir, rename, unlink, rmdir and fsync of this program, by taking their place in front of the C library;
// what succeeded is in the journal. One at a time.
class DiskJournal {
 public:
  DiskJournal();
  ~DiskJournal();
  DiskJournal(const DiskJournal&) = delete;
  DiskJournal& operator=(const DiskJournal&) = delete;

  const std::vector<DiskOperation>& operations() const { return operations_; }
  void add(DiskOperation operation) { operations_.push_back(std::move(operation)); }

  // From here on the process may try `count` such calls; the next one ends it with kEnded, as a kill would.
  static constexpr int kEnded = 77;
  static void end_process_before(int count);

 private:
  std::vector<DiskOperation> operations_;
};

}  // namespace rehearse::testing_command
