#pragma once

namespace rehearse {

// From here on the first of Ctrl-C, SIGTERM and SIGHUP is noted, and the next one, of any kind, ends the process at
// once. One that the process was started to ignore (nohup, a shell's background job) stays ignored and counts for
// nothing.
void catch_interrupts();
// Whether one was noted.
bool interrupt_requested();

}  // namespace rehearse
