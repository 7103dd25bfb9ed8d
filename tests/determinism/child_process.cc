#include "tests/determinism/child_process.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

extern char** environ;

namespace rehearse::testing_determinism {
namespace {

constexpr int kNotAllowed = 125;
constexpr int kNotStarted = 127;

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A file without a name.
int temporary_file() {
  std::string name = (std::filesystem::temp_directory_path() / "rehearse-child-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) throw std::runtime_error("cannot make " + name);
  unlink(name.c_str());
  return file;
}

std::string read_to_end(int file) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t got = read(file, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(file);
  return text;
}

[[noreturn]] void become(const ChildSettings& settings, int out, char* const* words, char* const* environment) {
  if (!settings.directory.empty() && chdir(settings.directory.c_str()) != 0) _exit(kNotStarted);
  dup2(out, STDOUT_FILENO);
  if (settings.before && !settings.before()) _exit(kNotAllowed);
  execve(REHEARSE_BINARY, words, environment);
  _exit(kNotStarted);
}

}  // namespace

ChildResult run_child(const ChildSettings& settings) {
  std::vector<std::string> words = {settings.program_name};
  words.insert(words.end(), settings.words.begin(), settings.words.end());
  std::vector<std::string> environment;
  if (settings.environment) {
    environment = *settings.environment;
  } else {
    for (char** one = environ; *one != nullptr; ++one) environment.emplace_back(*one);
  }
  environment.insert(environment.end(), settings.more_environment.begin(), settings.more_environment.end());
  const std::vector<char*> word_pointers = pointers_to(words);
  const std::vector<char*> environment_pointers = pointers_to(environment);

  int ends[2] = {-1, -1};  // where the parent reads, where the child writes
  if (settings.stdout_to_file) {
    ends[0] = temporary_file();
    ends[1] = dup(ends[0]);
  } else if (pipe2(ends, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) become(settings, ends[1], word_pointers.data(), environment_pointers.data());
  close(ends[1]);

  ChildResult result;
  if (!settings.stdout_to_file) result.out = read_to_end(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (settings.stdout_to_file) {
    lseek(ends[0], 0, SEEK_SET);
    result.out = read_to_end(ends[0]);
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  result.not_allowed = result.code == kNotAllowed;
  return result;
}

}  // namespace rehearse::testing_determinism
