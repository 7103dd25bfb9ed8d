#include "tools/rehearse/completion.h"

#include <algorithm>

#include "tools/rehearse/command_line.h"
#include "tools/rehearse/help.h"

namespace rehearse {
namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
  return out;
}

std::vector<std::string> first_words() {
  std::vector<std::string> words = command_names();
  words.insert(words.end(), {"help", "--help", "--version"});
  return words;
}

// What general help says about a command, for shells that show it.
std::string summary_of(const std::string& command) {
  const std::string help = general_help();
  const std::size_t line = help.find("\n  " + command + " ");
  if (line == std::string::npos) return command;
  std::size_t at = help.find("  ", line + 3);
  at = help.find_first_not_of(' ', at);
  return help.substr(at, help.find('\n', at) - at);
}

// Inside single quotes, and where a colon ends a name.
std::string quoted_summary(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : c == ':' ? std::string("\\:") : std::string(1, c);
  return out;
}

// Values that are one of a few words, by option.
struct Choice {
  const char* option;
  const char* words;
};
constexpr Choice kChoices[] = {{"--format", "text json"}, {"--collective", "all_reduce all_gather reduce_scatter"}};
// Options whose value is any text.
constexpr const char* kFreeOptions = "--seed|--set|--sweep|--seeds|--trace-steps|--ranks|--tensor";

}  // namespace

std::string bash_completion() {
  std::string out =
      "# Completion of rehearse for bash: source it, or put it where bash-completion looks.\n_rehearse() {\n";
  out += "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options=\n  COMPREPLY=()\n";
  out += "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W '" + joined(first_words(), " ") +
         "' -- \"$cur\"))\n    return\n  fi\n";
  out += "  case $prev in\n";
  for (const Choice& choice : kChoices) {
    out += std::string("    ") + choice.option + ") COMPREPLY=($(compgen -W '" + choice.words +
           "' -- \"$cur\")); return ;;\n";
  }
  out += std::string("    ") + kFreeOptions + ") return ;;\n  esac\n";
  out += "  case ${COMP_WORDS[1]} in\n";
  for (const std::string& command : command_names()) {
    out += "    " + command + ") options='" + joined(options_of(command), " ") + "' ;;\n";
  }
  out += "    help) COMPREPLY=($(compgen -W '" + joined(command_names(), " ") + "' -- \"$cur\")); return ;;\n";
  out += "  esac\n";
  out +=
      "  case ${COMP_WORDS[1]} in\n    completion) [[ $cur == -* ]] || { COMPREPLY=($(compgen -W 'bash zsh' -- "
      "\"$cur\")); return; } ;;\n  esac\n";
  out +=
      "  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n  else\n"
      "    COMPREPLY=($(compgen -f -- \"$cur\"))\n  fi\n}\n";
  return out + "complete -o filenames -F _rehearse rehearse\n";
}

std::string zsh_completion() {
  std::string out = "#compdef rehearse\n# Completion of rehearse for zsh: put it as _rehearse in a folder of $fpath.\n";
  out += "_rehearse() {\n  local -a commands options\n  if (( CURRENT == 2 )); then\n    commands=(\n";
  for (const std::string& command : command_names()) {
    out += "      '" + command + ":" + quoted_summary(summary_of(command)) + "'\n";
  }
  out += "    )\n    _describe command commands\n    compadd -- --help --version\n    return\n  fi\n";
  out += "  case $words[CURRENT-1] in\n";
  for (const Choice& choice : kChoices) {
    out += std::string("    (") + choice.option + ") compadd -- " + choice.words + "; return ;;\n";
  }
  out += std::string("    (") + kFreeOptions + ") return ;;\n  esac\n  case $words[2] in\n";
  for (const std::string& command : command_names()) {
    out += "    (" + command + ") options=(" + joined(options_of(command), " ") + ") ;;\n";
  }
  out += "    (help) compadd -- " + joined(command_names(), " ") + "; return ;;\n  esac\n";
  out +=
      "  if [[ $PREFIX == -* ]]; then\n    compadd -- $options\n  elif [[ $words[2] == completion ]]; then\n"
      "    compadd -- bash zsh\n  else\n    _files\n  fi\n}\n";
  return out +
         "if [[ $funcstack[1] == _rehearse ]]; then\n  _rehearse \"$@\"\nelse\n  compdef _rehearse rehearse\nfi\n";
}

}  // namespace rehearse
