#include "tools/rehearse/real_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace rehearse {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw RealIoError("cannot " + what + " " + path + ": " + std::generic_category().message(error));
}

// A file descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags, const char* what) : file_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail(what, path, errno);
  }
  ~File() { close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

void write_all(int file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void sync_file(int file, const std::string& path) {
  while (fsync(file) != 0) {
    if (errno == EINTR) continue;
    fail("sync", path, errno);
  }
}

// The directory that has the name `path`; never empty.
std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path();  // "DIR/"
  std::vector<std::filesystem::path> missing;
  for (std::filesystem::path one = whole; !one.empty() && !std::filesystem::exists(one, error); one = one.parent_path())
    missing.push_back(one);
  for (auto one = missing.rbegin(); one != missing.rend(); ++one) {
    std::filesystem::create_directory(*one, error);
    if (error) fail("make directory", one->string(), error.value());
    sync_directory(parent_of(one->string()));
  }
  if (!std::filesystem::is_directory(whole, error)) fail("make directory", path, error ? error.value() : ENOTDIR);
}

void make_new_directory(const std::string& path) {
  std::error_code error;
  const bool made = std::filesystem::create_directory(path, error);
  if (error || !made) fail("make directory", path, error ? error.value() : EEXIST);
}

void sync_directory(const std::string& path) {
  const File directory(path, O_RDONLY | O_DIRECTORY, "open directory");
  sync_file(directory.get(), path);
}

void write_new_file(const std::string& path, std::span<const std::byte> bytes) {
  const File file(path, O_WRONLY | O_CREAT | O_EXCL, "create");
  write_all(file.get(), bytes, path);
  sync_file(file.get(), path);
}

std::string temporary_path(const std::string& path) {
  const std::filesystem::path whole(path);
  std::string name(1, '.');
  name.append(whole.filename().string()).append(".tmp");
  return (whole.parent_path() / name).string();
}

void write_file_atomically(const std::string& path, std::string_view text) {
  const std::string temporary = temporary_path(path);
  remove_tree(temporary);
  try {
    write_new_file(temporary, std::as_bytes(std::span(text)));
    rename_path(temporary, path);
  } catch (const RealIoError&) {
    unlink(temporary.c_str());
    throw;
  }
  sync_directory(parent_of(path));
}

void rename_path(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail("rename " + from + " to", to, errno);
}

void remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) fail("remove", path, error.value());
}

void remove_published(const std::string& path) {
  const std::string deleting = temporary_path(path);
  remove_tree(deleting);
  rename_path(path, deleting);
  sync_directory(parent_of(path));
  remove_tree(deleting);
}

AppendWriter::AppendWriter(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_ < 0) fail("create", path_, errno);
}

AppendWriter::~AppendWriter() { close(file_); }

void AppendWriter::append(const std::string& line) {
  const std::string whole = line + "\n";
  write_all(file_, std::as_bytes(std::span(whole)), path_);
}

void AppendWriter::append_bytes(std::string_view bytes) { write_all(file_, std::as_bytes(std::span(bytes)), path_); }

void AppendWriter::sync() { sync_file(file_, path_); }

}  // namespace rehearse
