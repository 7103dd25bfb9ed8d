#include <malloc.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string_view>

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

}  // namespace

int main(int argc, char** argv) {
  // A run allocates and frees large buffers all the time; giving them back to the system each time costs page faults.
  constexpr int kKeep = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kKeep);
  mallopt(M_TRIM_THRESHOLD, kKeep);
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
