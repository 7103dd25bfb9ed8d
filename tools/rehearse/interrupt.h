#pragma once

namespace rehearse {

// From here on the first Ctrl-C or SIGTERM is noted, and the next one, of either kind, ends the process at once. One
// that the process was started to ignore (nohup, a shell's background job) stays ignored and counts for nothing.
void catch_interrupts();
// Whether one was noted.
bool interrupt_requested();

}  // namespace rehearse
