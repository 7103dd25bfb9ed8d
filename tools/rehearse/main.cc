#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tools/rehearse/heap.h"
#include "tools/rehearse/interrupt.h"
#include "tools/rehearse/rehearse.h"

namespace {

bool is_terminal_with_colors() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return !refused && !dumb && isatty(STDOUT_FILENO) == 1;
}

// A standard stream that the caller closed would give its number to the next file that is opened, and that file would
// get what is meant for the stream. Something that cannot be written takes the number, so that writing fails instead.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  rehearse::prepare_heap();
  // A file over the limit of its size is an error with a message like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  std::ios::sync_with_stdio(false);
  rehearse::catch_interrupts();
  rehearse::Console console(std::cout, std::cerr);
  console.colors = is_terminal_with_colors();
  console.progress = isatty(STDERR_FILENO) == 1;
  console.interrupted = rehearse::interrupt_requested;
  if (argc > 0) console.program = argv[0];
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return rehearse::rehearse_main(words, console);
}
