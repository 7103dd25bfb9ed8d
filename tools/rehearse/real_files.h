#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

// The real disk. Whatever fails throws RealIoError with path and reason.

namespace rehearse {

// Makes a directory and those above it that are missing; the names of all that it makes are durable.
void make_directories(const std::string& path);
// The same for a directory that must not exist yet, and whose parent must.
void make_new_directory(const std::string& path);
// Makes names in a directory durable: those of new, renamed and removed files.
void sync_directory(const std::string& path);

// A new file with these bytes, durable but for its name.
void write_new_file(const std::string& path, std::span<const std::byte> bytes);
// The file with these bytes whole or as it was: written under a temporary name beside it (temporary_path), synced,
// renamed, name synced.
void write_file_atomically(const std::string& path, std::string_view text);
// "DIR/.NAME.tmp"
std::string temporary_path(const std::string& path);

void rename_path(const std::string& from, const std::string& to);
// A file, or a directory with all in it; symbolic links are removed, never followed. Nothing there is fine.
void remove_tree(const std::string& path);
// The same for a directory that others read: renamed to temporary_path first, and that made durable, so that half of
// it never bears its name, wherever the removal ends.
void remove_published(const std::string& path);

// A file that grows piece by piece and can be read at any time.
class AppendWriter {
 public:
  // A new file; it must not exist.
  explicit AppendWriter(std::string path);
  ~AppendWriter();
  AppendWriter(const AppendWriter&) = delete;
  AppendWriter& operator=(const AppendWriter&) = delete;

  // Adds the line and a newline; they are in the file when this returns.
  void append(const std::string& line);
  // Adds bytes as they are.
  void append_bytes(std::string_view bytes);
  void sync();

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace rehearse
