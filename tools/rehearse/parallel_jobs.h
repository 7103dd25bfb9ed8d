#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace rehearse {

// Calls work(0), ..., work(count - 1) in up to `processes` child processes, each call in the next one that is free, and
// returns what they gave, in order: the same whatever `processes` is. With one process, or one piece of work, in this
// one. For a program without other threads.
//
// An Error of `work` is thrown again, with its exit code: that of the lowest index. A child that ends by itself is an
// Error, too. With `interrupted` the children are ended and fewer texts than `count` come back, those of the first
// pieces.
std::vector<std::string> run_in_processes(int processes, std::size_t count,
                                          const std::function<std::string(std::size_t)>& work,
                                          const std::function<bool()>& interrupted);

}  // namespace rehearse
