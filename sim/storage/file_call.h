#pragma once

#include <string>
#include <utility>

#include "core/runtime/storage.h"
#include "sim/fault/storage_faults.h"
#include "sim/storage/file_data.h"
#include "sim/storage/file_system.h"

namespace rehearse {

// One operation of a rank on a file system.
struct FileCall {
  FileCall(int call_rank, FileOperation call_operation, StoragePath call_path)
      : rank(call_rank), operation(call_operation), path(std::move(call_path)) {}
  int rank;
  FileOperation operation;
  StoragePath path;
  std::string to;  // of a rename, in the same mount
  FileData data;   // of a write
};

// Does what a call says that changes something, or makes it durable; requires no read and no list.
void carry_out(const FileCall& call, FileSystem& files);

}  // namespace rehearse
