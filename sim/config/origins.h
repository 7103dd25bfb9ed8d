#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/text_lexer.h"

namespace rehearse {

// Where each field of a scenario was written, by its path ("cluster.device.slowdown[0].factor"), so that an error found
// long after reading still names the place: "FILE:LINE:COLUMN" or "--set path=value".
class Origins {
 public:
  explicit Origins(std::string source) : source_(std::move(source)) {}

  void set(const std::string& path, TextPosition position);
  void set(const std::string& path, const std::string& option);  // "--set train.steps=40"

  // Of the field, or of the nearest group around it that was written; the file's first line where none was.
  std::string where(std::string path) const;

  // Throws InputError "WHERE: PATH: WHAT"; without the path where the option named it already.
  [[noreturn]] void fail(const std::string& path, const std::string& what) const;

  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::map<std::string, std::string> places_;
};

// "train" + "steps" -> "train.steps"; the root's path is empty.
std::string join_path(const std::string& path, std::string_view name);

// ", did you mean ...?" or the whole list: what to say after an unknown `name` of which `candidates` exist.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace rehearse
