#include <cstdio>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/validate_collectives/fit.h"
#include "tools/validate_collectives/validation.h"

namespace {

int run(const std::vector<std::string>& words) {
  using namespace rehearse;
  bool fit = false;
  std::string rows_file;
  for (const std::string& word : words) {
    if (word == "--fit") {
      fit = true;
    } else if (word.starts_with('-') || !rows_file.empty()) {
      throw InputError("found '" + word + "'; allowed: [--fit] ROWS.jsonl");
    } else {
      rows_file = word;
    }
  }
  if (rows_file.empty()) throw InputError("needs a file of rows; allowed: [--fit] ROWS.jsonl");
  const std::vector<PublishedRow> rows = load_published(rows_file);
  StackConstants constants = stack_presets();
  if (fit) {
    constants = fit_stack(constants, rows, 4, [](const std::string& line) {
      std::printf("%s\n", line.c_str());
      std::fflush(stdout);
    });
  }
  std::printf("%s", validation_report(predict_rows(constants, rows)).c_str());
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run({words + 1, words + count});
  } catch (const rehearse::Error& error) {
    std::fprintf(stderr, "validate: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
