#include "tools/rehearse/isolated.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "core/base/error.h"

namespace rehearse {
namespace {

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0)
      throw Error(ExitCode::kRealIo, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    close(0);
    close(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int end(std::size_t i) const { return ends_[i]; }
  void close(std::size_t i) {
    if (ends_[i] >= 0) ::close(ends_[i]);
    ends_[i] = -1;
  }

 private:
  std::array<int, 2> ends_{};
};

bool write_whole(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

[[noreturn]] void serve(const std::function<std::string()>& work, int answer, int errors) {
  ::dup2(errors, STDERR_FILENO);
  try {
    // The last byte says that the answer is whole.
    if (write_whole(answer, work() + ".")) ::_exit(0);
  } catch (const std::exception& error) {
    write_whole(errors, error.what());
  }
  ::_exit(1);
}

// Reads both pipes to their ends; false where the time was over before.
bool read_both(const Pipe& answer, const Pipe& errors, int seconds, std::string& text, std::string& words) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::array<pollfd, 2> files = {pollfd{answer.end(0), POLLIN, 0}, pollfd{errors.end(0), POLLIN, 0}};
  std::array<std::string*, 2> texts = {&text, &words};
  std::array<char, 16384> bytes;
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(files.data(), files.size(), static_cast<int>(left.count())) <= 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      const ssize_t size = ::read(files[i].fd, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        files[i].fd = -1;
      } else {
        texts[i]->append(bytes.data(), static_cast<std::size_t>(size));
      }
    }
  }
  return true;
}

}  // namespace

Isolated run_isolated(const std::function<std::string()>& work, int seconds) {
  Pipe answer;
  Pipe errors;
  const pid_t process = ::fork();
  if (process < 0) throw Error(ExitCode::kRealIo, std::string("cannot start a process: ") + std::strerror(errno));
  if (process == 0) serve(work, answer.end(1), errors.end(1));
  answer.close(1);
  errors.close(1);
  std::string text;
  std::string words;
  const bool in_time = read_both(answer, errors, seconds, text, words);
  if (!in_time) ::kill(process, SIGKILL);
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  Isolated result;
  result.whole = in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0 && text.ends_with('.');
  if (result.whole) {
    text.pop_back();
    result.text = std::move(text);
    return result;
  }
  result.text = std::move(words);
  result.problem = !in_time              ? "it did not come to its end within " + std::to_string(seconds) + " seconds"
                   : WIFSIGNALED(status) ? "it was ended by signal " + std::to_string(WTERMSIG(status))
                                         : "it ended by itself";
  return result;
}

}  // namespace rehearse
