#pragma once

namespace rehearse {

// Sets the process's heap up for a run, which allocates and frees large buffers all the time: freed memory is kept
// instead of being given back, and the first megabytes come in huge pages where the system has them. Of a capstone's
// time the page faults would be a tenth. Called once, before anything is allocated in earnest.
void prepare_heap();

}  // namespace rehearse
