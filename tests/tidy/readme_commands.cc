#include "tests/tidy/readme_commands.h"

#include <sstream>

#include "tests/tidy/source_text.h"

namespace rehearse::tidy {

std::vector<ReadmeCommand> read_readme_commands(std::string_view markdown) {
  std::vector<ReadmeCommand> commands;
  bool in_block = false;
  std::string command;
  int number = 0;
  int begin = 0;
  for (std::string_view line : split_lines(markdown)) {
    ++number;
    if (line.starts_with("```")) {
      in_block = !in_block && line == "```sh";
      command.clear();
      continue;
    }
    if (!in_block) continue;
    if (command.empty()) begin = number;
    if (command.empty() && line.starts_with("$ ")) line.remove_prefix(2);
    const bool continued = line.ends_with('\\');
    command += std::string(line.substr(0, line.size() - (continued ? 1 : 0))) + " ";
    if (continued) continue;
    std::istringstream in(command);
    ReadmeCommand read{begin, {}};
    for (std::string word; in >> word && !word.starts_with('#');) read.words.push_back(word);
    command.clear();
    if (read.words.empty()) continue;
    if (read.words[0] == "build/release/rehearse" || read.words[0].starts_with("tools/")) commands.push_back(read);
  }
  return commands;
}

}  // namespace rehearse::tidy
