#pragma once

namespace rehearse {

// From here on the first Ctrl-C (or SIGTERM) is noted and the next one ends the process at once.
void catch_interrupts();
// Whether one was noted.
bool interrupt_requested();

}  // namespace rehearse
