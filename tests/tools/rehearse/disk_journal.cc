#include "tests/tools/rehearse/disk_journal.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <utility>

namespace rehearse::testing_command {
namespace {

using Kind = DiskOperation::Kind;

DiskJournal* g_journal = nullptr;
int g_calls_left = -1;  // none where it is not counted

std::string path_of(int file) {
  char path[PATH_MAX];
  const ssize_t size = readlink(("/proc/self/fd/" + std::to_string(file)).c_str(), path, sizeof path);
  return size < 0 ? "" : std::string(path, static_cast<std::size_t>(size));
}

// The function of the C library that ours stands in front of.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Call>
int seen(const Call& call, DiskOperation operation) {
  if (g_calls_left == 0) _exit(DiskJournal::kEnded);
  if (g_calls_left > 0) --g_calls_left;
  const int result = call();
  if (result == 0 && g_journal != nullptr) g_journal->add(std::move(operation));
  return result;
}

}  // namespace

DiskJournal::DiskJournal() { g_journal = this; }
DiskJournal::~DiskJournal() { g_journal = nullptr; }
void DiskJournal::end_process_before(int count) { g_calls_left = count; }

}  // namespace rehearse::testing_command

using rehearse::testing_command::path_of;
using rehearse::testing_command::real;
using rehearse::testing_command::seen;
using Kind = rehearse::testing_command::DiskOperation::Kind;

extern "C" {

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto call = real<int(const char*, mode_t)>("mkdir");
  return seen([&] { return call(path, mode); }, {Kind::kMakeDirectory, path, ""});
}

int rename(const char* from, const char* to) noexcept {
  static const auto call = real<int(const char*, const char*)>("rename");
  return seen([&] { return call(from, to); }, {Kind::kRename, from, to});
}

int unlink(const char* path) noexcept {
  static const auto call = real<int(const char*)>("unlink");
  return seen([&] { return call(path); }, {Kind::kRemove, path, ""});
}

int rmdir(const char* path) noexcept {
  static const auto call = real<int(const char*)>("rmdir");
  return seen([&] { return call(path); }, {Kind::kRemove, path, ""});
}

int unlinkat(int directory, const char* path, int flags) noexcept {
  static const auto call = real<int(int, const char*, int)>("unlinkat");
  const std::string whole = directory == AT_FDCWD ? path : path_of(directory) + "/" + path;
  return seen([&] { return call(directory, path, flags); }, {Kind::kRemove, whole, ""});
}

int fsync(int file) {
  static const auto call = real<int(int)>("fsync");
  return seen([&] { return call(file); }, {Kind::kSync, path_of(file), ""});
}

}  // extern "C"
