#include "sim/storage/file_call.h"

#include "core/base/check.h"

namespace rehearse {

void carry_out(const FileCall& call, FileSystem& files) {
  const std::string& path = call.path.path;
  switch (call.operation) {
    case FileOperation::kWrite:
      return files.write(path, call.data, call.rank);
    case FileOperation::kFsync:
      return files.fsync(path);
    case FileOperation::kFsyncDirectory:
      return files.fsync_directory(path);
    case FileOperation::kRename:
      return files.rename(path, call.to, call.rank);
    case FileOperation::kRemove:
      return files.remove(path, call.rank);
    case FileOperation::kMakeDirectory:
      return files.make_directory(path, call.rank);
    case FileOperation::kRead:
    case FileOperation::kList:
      break;
  }
  check_failed(__FILE__, __LINE__, "a call that changes nothing");
}

}  // namespace rehearse
