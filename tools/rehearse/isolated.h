#pragma once

#include <functional>
#include <string>

namespace rehearse {

// What came of work in a process of its own.
struct Isolated {
  bool whole = false;   // it came to its end
  std::string text;     // what it returned; where it did not come to its end what stood on its standard error
  std::string problem;  // why it did not, in words: "it was ended by signal 6"
};

// Does a piece of work in a child process, which may die (a failed CHECK) or not come to an end without harm to this
// one. An exception counts as its death, with its words on standard error. After `seconds` it is ended.
Isolated run_isolated(const std::function<std::string()>& work, int seconds);

}  // namespace rehearse
