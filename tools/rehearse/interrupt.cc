#include "tools/rehearse/interrupt.h"

#include <csignal>

namespace rehearse {
namespace {

// The one global of the program: a handler has nowhere else to put what it learned.
volatile std::sig_atomic_t g_requested = 0;

// SIGHUP is a terminal that goes away.
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler == SIG_IGN;
}

// Gives the signals that are caught to `handler`; safe in a handler, sigaction is all it calls.
void hand_to(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  // Neither comes while the other is noted: it waits, and then finds that it is the next one.
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) sigaddset(&action.sa_mask, signal);
  for (const int signal : kSignals) {
    if (!is_ignored(signal)) sigaction(signal, &action, nullptr);
  }
}

void note(int) {
  g_requested = 1;
  hand_to(SIG_DFL);
}

}  // namespace

void catch_interrupts() { hand_to(note); }

bool interrupt_requested() { return g_requested != 0; }

}  // namespace rehearse
