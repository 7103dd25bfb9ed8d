#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "sim/config/canonical.h"
#include "sim/config/loader.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/text_reader.h"

namespace rehearse {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr const char* kFolder = "inputs/";

// "inputs/NAME", with a number in front where the scenario names several files of one name.
std::string unique_name(const std::string& path, std::set<std::string>& taken) {
  const std::string base = std::filesystem::path(path).filename().string();
  std::string name = base;
  for (int n = 2; !taken.insert(name).second; ++n) name = std::to_string(n) + "-" + base;
  return kFolder + name;
}

std::string with_story(const std::string& story, const std::string& text) {
  std::string out;
  for (std::size_t start = 0; !story.empty() && start != std::string::npos;) {
    const std::size_t end = story.find('\n', start);
    const std::string line = story.substr(start, end == std::string::npos ? end : end - start);
    out += (line.empty() ? "#" : "# ") + line + "\n";
    start = end == std::string::npos ? end : end + 1;
  }
  return out + text;
}

// Copies the scenario whose weights another expects: its text beside the input files, its own inputs below that.
void copy_reference(const Scenario& reference, const std::string& path, Bytes limit, ScenarioCopy& copy) {
  ScenarioCopy inner = make_scenario_copy(reference, limit);
  copy.files.push_back(CopiedFile{path, std::make_shared<const std::string>(std::move(inner.text))});
  for (CopiedFile& file : inner.files) copy.files.push_back(CopiedFile{kFolder + file.path, std::move(file.contents)});
  for (InputFile& file : inner.left_out) copy.left_out.push_back(std::move(file));
}

ScenarioCopy copy_of(const Scenario& scenario, config::Scenario& message, Bytes limit) {
  ScenarioCopy copy;
  std::set<std::string> taken;
  auto input = scenario.inputs.begin();
  for_each_file(message, [&](Message& group, const FieldDescriptor& field, const std::string&) {
    const auto rewrite = [&](const std::string& path) { group.GetReflection()->SetString(&group, &field, path); };
    const std::string named = group.GetReflection()->GetString(group, &field);
    if (field.options().GetExtension(config::rule).file() == config::Rule::SCENARIO) {
      if (scenario.expect.same_weights_as->scenario == nullptr) return;  // a digest, no file
      if (named == "fault-free") return;                                 // this scenario itself
      const std::string path = unique_name(named, taken);
      rewrite(path);
      copy_reference(*scenario.expect.same_weights_as->scenario, path, limit, copy);
      return;
    }
    CHECK(input != scenario.inputs.end() && input->path == named);
    if (std::cmp_greater(input->contents->size(), limit.count())) {
      InputFile file = *input;
      const std::filesystem::path folder = std::filesystem::path(scenario.file_path).parent_path();
      file.path = std::filesystem::absolute(folder / named).lexically_normal().string();
      rewrite(file.path);
      copy.left_out.push_back(std::move(file));
    } else {
      const std::string path = unique_name(named, taken);
      rewrite(path);
      copy.files.push_back(CopiedFile{path, input->contents});
    }
    ++input;
  });
  copy.text = with_story(scenario.story, canonical_text(message));
  return copy;
}

config::Scenario message_of(const Scenario& scenario) {
  config::Scenario message;
  Origins origins(scenario.file_path);
  read_text(scenario.text, message, origins);
  return message;
}

}  // namespace

ScenarioCopy make_scenario_copy(const Scenario& scenario, Bytes limit) {
  config::Scenario message = message_of(scenario);
  return copy_of(scenario, message, limit);
}

ScenarioCopy make_checkpoint_copy(const Scenario& scenario) {
  config::Scenario message = message_of(scenario);
  message.clear_mode();
  return copy_of(scenario, message, kCopyLimit);
}

}  // namespace rehearse
