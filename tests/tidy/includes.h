#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/source_text.h"
#include "tests/tidy/source_tree.h"

// Who may include whom. The linker finds a missing dependency only where something is called; these rules also see
// headers that are all inline.

namespace rehearse::tidy {

// For each folder with a rehearse_library() call in its CMakeLists.txt: the folders of its DEPS, theirs, and so on.
using FolderDeps = std::map<std::string, std::set<std::string>, std::less<>>;
FolderDeps read_folder_deps(const SourceTree& tree);

// The layers: tools -> sim -> core; core/train knows neither core/comm nor core/transport; Asio stays behind
// core/runtime/task.h in core/comm, core/parallel and core/train; quoted includes are written from the root.
std::vector<Finding> check_layers(const SourceFile& file);

// Every quoted include of a folder with a library is among its dependencies.
std::vector<Finding> check_declared_deps(const SourceFile& file, const FolderDeps& deps);

// A rehearse_library() call names the folder it stands in, and dependencies that exist.
std::vector<Finding> check_library_calls(const SourceTree& tree);

}  // namespace rehearse::tidy
