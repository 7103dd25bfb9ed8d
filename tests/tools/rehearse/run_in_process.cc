#include "tests/tools/rehearse/run_in_process.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tools/rehearse/rehearse.h"

namespace rehearse::testing_command {

Ran rehearse(const std::vector<std::string>& words) {
  return rehearse(words, [] { return false; });
}

Ran rehearse(const std::vector<std::string>& words, std::function<bool()> interrupted) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err);
  console.interrupted = std::move(interrupted);
  Ran ran;
  ran.code = rehearse_main(words, console);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "rehearse-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

std::string shipped_scenario(const std::string& name) {
  return std::string(REHEARSE_SOURCE_DIR) + "/scenarios/" + name + ".textproto";
}

std::string small_scenario(const std::string& expect) {
  return small_scenario_with("checkpoint { every_steps: 2 }\nexpect { " + expect + " }\n");
}

std::string small_scenario_with(const std::string& rest) {
  return "# Two ranks train for six steps.\n"
         "name: \"small\"\n"
         "seed: 3\n"
         "cluster { ranks: 2 }\n"
         "model { layers: 1 embed: 8 heads: 2 vocab: 16 context: 8 }\n"
         "data { synthetic { kind: MARKOV states: 4 } }\n"
         "train { steps: 6 batch: 2 zero_stage: 1 adam { lr: 0.01 } }\n" +
         rest;
}

}  // namespace rehearse::testing_command
