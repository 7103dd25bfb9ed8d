#include "core/runtime/storage.h"

namespace rehearse {

const char* name_of(StorageError::Kind kind) {
  switch (kind) {
    case StorageError::Kind::kNotFound:
      return "no such file or directory";
    case StorageError::Kind::kExists:
      return "exists already";
    case StorageError::Kind::kNotADirectory:
      return "is not a directory";
    case StorageError::Kind::kIsADirectory:
      return "is a directory";
    case StorageError::Kind::kNotEmpty:
      return "directory is not empty";
    case StorageError::Kind::kNoSpace:
      return "no space left";
    case StorageError::Kind::kIo:
      return "input/output error";
    case StorageError::Kind::kFenced:
      return "a newer generation of the job has taken over";
  }
  check_failed(__FILE__, __LINE__, "unknown kind of storage error");
}

StorageError::StorageError(Kind kind, const std::string& operation, const StoragePath& path)
    : std::runtime_error(operation + " " + path.text() + ": " + name_of(kind)), kind_(kind) {}

}  // namespace rehearse
