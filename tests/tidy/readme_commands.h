#pragma once

#include <string>
#include <string_view>
#include <vector>

// What a README tells its reader to type.

namespace rehearse::tidy {

struct ReadmeCommand {
  int line;  // of the README, from 1
  std::vector<std::string> words;
};

// The commands in the ```sh blocks that start with build/release/rehearse or tools/. A prompt "$ " is dropped, a line
// that ends in a backslash goes on in the next, a word " #" starts a comment. Blanks separate words; quotes are kept.
std::vector<ReadmeCommand> read_readme_commands(std::string_view markdown);

}  // namespace rehearse::tidy
