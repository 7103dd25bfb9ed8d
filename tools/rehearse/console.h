#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace rehearse {

// Where a command writes and what it may write there. Tests give it streams of their own.
struct Console {
  Console(std::ostream& console_out, std::ostream& console_err) : out(console_out), err(console_err) {}

  std::ostream& out;
  std::ostream& err;
  bool colors = false;    // `out` is a terminal, and NO_COLOR is not set
  bool progress = false;  // `err` is a terminal
  std::function<bool()> interrupted = [] { return false; };
  std::string program = "rehearse";  // as it was called, for the command that repeats a run
};

// Emphasis that is none where there are no colors.
class Style {
 public:
  explicit Style(bool colors) : colors_(colors) {}

  std::string bold(const std::string& text) const { return wrap("1", text); }
  std::string dim(const std::string& text) const { return wrap("2", text); }
  std::string good(const std::string& text) const { return wrap("1;32", text); }
  std::string bad(const std::string& text) const { return wrap("1;31", text); }

 private:
  std::string wrap(const char* code, const std::string& text) const {
    return colors_ ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
  }
  bool colors_;
};

}  // namespace rehearse
