#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rehearse::testing_command {

// What a command left behind.
struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs the command in this process, as `rehearse WORD...`.
Ran rehearse(const std::vector<std::string>& words);
// The same, where `interrupted` stands for Ctrl-C.
Ran rehearse(const std::vector<std::string>& words, std::function<bool()> interrupted);

// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// "SOURCE/scenarios/NAME.textproto"
std::string shipped_scenario(const std::string& name);

// A job of milliseconds: 2 ranks, 6 steps, a checkpoint after every 2. `expect` is the text of its expectations.
std::string small_scenario(const std::string& expect);
// The same, where `rest` replaces the checkpoint group and everything after it.
std::string small_scenario_with(const std::string& rest);

}  // namespace rehearse::testing_command
