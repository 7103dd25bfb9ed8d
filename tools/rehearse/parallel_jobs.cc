#include "tools/rehearse/parallel_jobs.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/error.h"

namespace rehearse {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr int kPollMilliseconds = 200;

bool write_all(int file, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = ::send(file, bytes, size, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

bool read_all(int file, void* data, std::size_t size) {
  auto* bytes = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t done = ::read(file, bytes, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

// What a child says of one piece: the text, or the exit code and the message of its error.
struct Answer {
  std::uint64_t size = 0;
  std::int64_t error = 0;
};

[[noreturn]] void serve(int file, const std::function<std::string(std::size_t)>& work) {
  std::uint64_t index = 0;
  while (read_all(file, &index, sizeof index)) {
    Answer answer;
    std::string text;
    try {
      text = work(static_cast<std::size_t>(index));
    } catch (const Error& error) {
      answer.error = static_cast<std::int64_t>(error.exit_code());
      text = error.what();
    } catch (const std::exception& error) {
      answer.error = static_cast<std::int64_t>(ExitCode::kExpectationFailed);
      text = std::string("unexpected: ") + error.what();
    }
    answer.size = text.size();
    if (!write_all(file, &answer, sizeof answer) || !write_all(file, text.data(), text.size())) break;
  }
  ::_exit(0);
}

struct Child {
  pid_t process = -1;
  int file = -1;
  std::size_t index = kNone;  // what it works on
};

// Ends what still runs, however the work ended.
class Children {
 public:
  Children(int count, const std::function<std::string(std::size_t)>& work) {
    for (int i = 0; i < count; ++i) start(work);
  }
  ~Children() {
    for (const Child& child : all_) {
      ::close(child.file);
      ::kill(child.process, SIGKILL);
      while (::waitpid(child.process, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  std::vector<Child>& all() { return all_; }

 private:
  void start(const std::function<std::string(std::size_t)>& work) {
    int files[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files) != 0) fail("cannot talk to a child process");
    const pid_t process = ::fork();
    if (process < 0) {
      ::close(files[0]);
      ::close(files[1]);
      fail("cannot start a child process");
    }
    if (process == 0) {
      ::close(files[0]);
      for (const Child& other : all_) ::close(other.file);
      serve(files[1], work);
    }
    ::close(files[1]);
    Child child;
    child.process = process;
    child.file = files[0];
    all_.push_back(child);
  }

  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ExitCode::kRealIo, "--jobs: " + what + ": " + std::strerror(errno));
  }

  std::vector<Child> all_;
};

// The texts before the first that is missing.
std::vector<std::string> leading(std::vector<std::optional<std::string>> texts) {
  std::vector<std::string> all;
  for (std::optional<std::string>& text : texts) {
    if (!text.has_value()) break;
    all.push_back(std::move(*text));
  }
  return all;
}

std::vector<std::string> run_here(std::size_t count, const std::function<std::string(std::size_t)>& work,
                                  const std::function<bool()>& interrupted) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text = work(i);
    if (interrupted && interrupted()) break;
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

std::vector<std::string> run_in_processes(int processes, std::size_t count,
                                          const std::function<std::string(std::size_t)>& work,
                                          const std::function<bool()>& interrupted) {
  processes = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(processes, 1)), count));
  if (processes <= 1) return run_here(count, work, interrupted);
  Children children(processes, work);
  std::vector<std::optional<std::string>> texts(count);
  std::size_t next = 0;
  std::size_t first_error = kNone;
  std::optional<Error> error;
  // Pieces after one that failed are not begun: their texts would be thrown away.
  const auto give = [&](Child& child) {
    child.index = kNone;
    if (next >= count || error.has_value()) return;
    child.index = next++;
    const std::uint64_t index = child.index;
    write_all(child.file, &index, sizeof index);  // a child that is gone is found out when it is read from
  };
  for (Child& child : children.all()) give(child);
  for (;;) {
    std::vector<pollfd> waiting;
    for (const Child& child : children.all()) {
      if (child.index != kNone) waiting.push_back(pollfd{child.file, POLLIN, 0});
    }
    if (waiting.empty()) break;
    if (interrupted && interrupted()) return leading(std::move(texts));
    if (::poll(waiting.data(), waiting.size(), kPollMilliseconds) <= 0) continue;
    for (const pollfd& ready : waiting) {
      if (ready.revents == 0) continue;
      Child& child = *std::find_if(children.all().begin(), children.all().end(),
                                   [&](const Child& one) { return one.file == ready.fd; });
      const std::size_t index = child.index;
      Answer answer;
      std::string text;
      bool whole = read_all(child.file, &answer, sizeof answer);
      if (whole) {
        text.resize(answer.size);
        whole = read_all(child.file, text.data(), text.size());
      }
      if (!whole) {
        if (interrupted && interrupted()) return leading(std::move(texts));
        throw Error(ExitCode::kExpectationFailed, "--jobs: the process that worked on piece " +
                                                      std::to_string(index + 1) + " of " + std::to_string(count) +
                                                      " ended before it was done; out of memory is the likely cause");
      }
      if (answer.error == 0) {
        texts[index] = std::move(text);
      } else if (index < first_error) {
        first_error = index;
        error.emplace(static_cast<ExitCode>(answer.error), text);
      }
      give(child);
    }
  }
  if (error.has_value()) throw *error;
  return leading(std::move(texts));
}

}  // namespace rehearse
