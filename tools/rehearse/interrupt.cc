#include "tools/rehearse/interrupt.h"

#include <csignal>

namespace rehearse {
namespace {

// The one global of the program: a handler has nowhere else to put what it learned.
volatile std::sig_atomic_t g_requested = 0;

void note(int) { g_requested = 1; }

}  // namespace

void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupt_requested() { return g_requested != 0; }

}  // namespace rehearse
