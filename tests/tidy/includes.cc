#include "tests/tidy/includes.h"

#include <algorithm>
#include <optional>

namespace rehearse::tidy {
namespace {

struct Include {
  std::string_view path;
  bool quoted;
  int line;
};

std::vector<Include> read_includes(std::string_view text) {
  // The blanked text says which lines are includes and no comment, the original what they include.
  const std::string code = blank_comments_and_strings(text);
  const std::vector<std::string_view> code_lines = split_lines(code);
  const std::vector<std::string_view> lines = split_lines(text);
  std::vector<Include> includes;
  for (std::size_t i = 0; i < code_lines.size(); ++i) {
    const std::vector<Token> tokens = tokenize(code_lines[i]);
    if (tokens.size() < 3 || tokens[0].text != "#" || tokens[1].text != "include") continue;
    const bool quoted = tokens[2].text == "\"";
    if (!quoted && tokens[2].text != "<") continue;
    const std::size_t begin = tokens[2].offset + 1;
    const std::size_t end = lines[i].find(quoted ? '"' : '>', begin);
    if (end == std::string_view::npos) continue;
    includes.push_back({lines[i].substr(begin, end - begin), quoted, static_cast<int>(i) + 1});
  }
  return includes;
}

// "core/base" of "core/base/units.h", "" of what is in no subfolder.
std::string_view library_folder(std::string_view path) {
  const std::size_t first = path.find('/');
  if (first == std::string_view::npos) return {};
  const std::size_t second = path.find('/', first + 1);
  return second == std::string_view::npos ? std::string_view() : path.substr(0, second);
}

struct LibraryCall {
  std::string folder;
  std::vector<std::string> deps;
  int line;
};

std::optional<LibraryCall> read_library_call(const SourceFile& file) {
  std::string code;
  for (std::string_view line : split_lines(file.text)) code += std::string(line.substr(0, line.find('#'))) + "\n";
  const std::string_view opening = "rehearse_library(";
  const std::size_t begin = code.find(opening);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t end = std::min(code.find(')', begin), code.size());
  LibraryCall call;
  call.line = 1 + static_cast<int>(std::count(code.begin(), code.begin() + begin, '\n'));
  bool in_deps = false;
  std::string word;
  for (std::size_t i = begin + opening.size(); i <= end; ++i) {
    const char c = i < end ? code[i] : ' ';
    if (c != ' ' && c != '\n' && c != '\t') {
      word += c;
      continue;
    }
    if (word.empty()) continue;
    if (word == "DEPS" || word == "LINK" || word == "USES_TASK") {
      in_deps = word == "DEPS";
    } else if (call.folder.empty()) {
      call.folder = word;
    } else if (in_deps) {
      call.deps.push_back(word);
    }
    word.clear();
  }
  return call;
}

bool may_declare_library(const SourceFile& file) {
  return file.is_cmake_list() && (file.is_under("core") || file.is_under("sim") || file.is_under("tools"));
}

bool starts_with_folder(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

}  // namespace

FolderDeps read_folder_deps(const SourceTree& tree) {
  FolderDeps direct;
  for (const SourceFile& file : tree) {
    if (!may_declare_library(file)) continue;
    if (const std::optional<LibraryCall> call = read_library_call(file)) {
      direct[call->folder].insert(call->deps.begin(), call->deps.end());
    }
  }
  FolderDeps closure;
  for (const auto& [folder, deps] : direct) {
    std::vector<std::string> open(deps.begin(), deps.end());
    std::set<std::string>& reached = closure[folder];
    while (!open.empty()) {
      const std::string next = open.back();
      open.pop_back();
      if (!reached.insert(next).second) continue;
      if (const auto found = direct.find(next); found != direct.end()) {
        open.insert(open.end(), found->second.begin(), found->second.end());
      }
    }
  }
  return closure;
}

std::vector<Finding> check_layers(const SourceFile& file) {
  std::vector<Finding> findings;
  const bool core = file.is_under("core");
  const bool sim = file.is_under("sim");
  const bool train = file.is_under("core/train");
  const bool behind_task = train || file.is_under("core/comm") || file.is_under("core/parallel");
  for (const Include& include : read_includes(file.text)) {
    const auto add = [&](const std::string& why) {
      findings.push_back({file.path, include.line, "includes " + std::string(include.path) + ": " + why});
    };
    const auto of = [&](std::string_view folder) { return starts_with_folder(include.path, folder); };
    if (core && of("sim")) add("core never includes sim");
    if ((core || sim) && of("tools")) add("core and sim never include tools");
    if ((core || sim) && of("tests")) add("core and sim never include tests");
    if (train && (of("core/comm") || of("core/transport"))) {
      add("the training loop knows neither collectives nor a transport");
    }
    if (behind_task && include.path.starts_with("boost/asio")) add("use core/runtime/task.h");
    if (include.quoted && include.path.find('/') == std::string_view::npos) {
      add("quoted includes are written from the root");
    }
  }
  return findings;
}

std::vector<Finding> check_declared_deps(const SourceFile& file, const FolderDeps& deps) {
  std::vector<Finding> findings;
  const std::string_view own = library_folder(file.path);
  const auto declared = deps.find(own);
  if (declared == deps.end()) return findings;
  for (const Include& include : read_includes(file.text)) {
    const std::string_view other = library_folder(include.path);
    if (!include.quoted || other.empty() || other == own) continue;
    if (!declared->second.contains(std::string(other))) {
      findings.push_back({file.path, include.line,
                          "includes " + std::string(include.path) + ", but " + std::string(other) +
                              " is not among the DEPS of " + std::string(own) + "/CMakeLists.txt"});
    }
  }
  return findings;
}

std::vector<Finding> check_library_calls(const SourceTree& tree) {
  const FolderDeps known = read_folder_deps(tree);
  std::vector<Finding> findings;
  for (const SourceFile& file : tree) {
    if (!may_declare_library(file)) continue;
    const std::optional<LibraryCall> call = read_library_call(file);
    if (!call) continue;
    if (call->folder != file.directory()) {
      findings.push_back({file.path, call->line, "rehearse_library(" + call->folder + ") stands in another folder"});
    }
    for (const std::string& dep : call->deps) {
      if (!known.contains(dep)) findings.push_back({file.path, call->line, "DEPS names " + dep + ", no library"});
    }
    if (known.at(call->folder).contains(call->folder)) {
      findings.push_back({file.path, call->line, call->folder + " depends on itself in a circle"});
    }
  }
  return findings;
}

}  // namespace rehearse::tidy
