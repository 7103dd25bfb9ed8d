#include <map>
#include <set>

#include "core/checkpoint/names.h"
#include "core/formats/json.h"
#include "core/formats/safetensors.h"
#include "sim/config/loader.h"
#include "tools/rehearse/checkpoint_directory.h"
#include "tools/rehearse/diff.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/value_difference.h"

namespace rehearse {
namespace {

// Adds what differs between two tensor files; `file` names them in a checkpoint, or is empty. True where nothing does.
bool compare_tensors(const SafetensorsFile& a, const SafetensorsFile& b, const std::string& file, DiffReport& report) {
  const std::string prefix = file.empty() ? "  " : "  " + file + ": ";
  const auto differ = [&](const std::string& tensor, const std::string& what, Json json = Json::object()) {
    report.text += prefix + tensor + ": " + what + "\n";
    if (!file.empty()) json["file"] = file;
    json["tensor"] = tensor;
    json["what"] = what;
    report.json["tensors"].push_back(std::move(json));
  };
  bool same = true;
  for (const TensorView& one : a.tensors()) {
    const TensorView* other = b.find(one.name);
    if (other == nullptr) {
      differ(one.name, "only A has it");
      same = false;
      continue;
    }
    if (one.dtype != other->dtype || one.shape != other->shape) {
      differ(one.name, std::string("A has ") + name_of(one.dtype) + " " + shape_text(one.shape) + ", B " +
                           name_of(other->dtype) + " " + shape_text(other->shape));
      same = false;
      continue;
    }
    const auto value = first_value_difference(one.dtype, one.data, other->data);
    if (!value) continue;
    Json json;
    json["index"] = value->index;
    json["a"] = value->a;
    json["b"] = value->b;
    json["differing"] = value->differing;
    differ(one.name,
           index_text(value->index, one.shape) + " is " + value->a + " and " + value->b +
               (value->distance.empty() ? "" : ", " + value->distance + " apart") + "; " +
               std::to_string(value->differing) + (value->differing == 1 ? " element differs" : " elements differ"),
           std::move(json));
    same = false;
  }
  for (const TensorView& other : b.tensors()) {
    if (a.find(other.name) != nullptr) continue;
    differ(other.name, "only B has it");
    same = false;
  }
  if (a.metadata() != b.metadata()) {
    differ("__metadata__", "is not the same");
    same = false;
  }
  return same;
}

// The first few members of two JSON documents that differ, by their paths.
bool compare_json(const FileData& a, const FileData& b, const std::string& file, DiffReport& report) {
  constexpr std::size_t kShown = 10;
  const auto one = parse_json_or_discarded(a.text());
  const auto other = parse_json_or_discarded(b.text());
  const Json patch = Json::diff(one, other);
  std::size_t shown = 0;
  for (const auto& change : patch) {
    if (shown++ == kShown) {
      report.text += "  " + file + ": and " + std::to_string(patch.size() - kShown) + " more\n";
      break;
    }
    const std::string path = change.at("path");
    const Json::json_pointer pointer(path);
    const auto value = [&](const Json& document) {
      return document.contains(pointer) ? document.at(pointer).dump() : std::string("nothing");
    };
    report.text += "  " + file + ": " + path + " is " + value(one) + " and " + value(other) + "\n";
    Json json;
    json["file"] = file;
    json["path"] = path;
    report.json["members"].push_back(std::move(json));
  }
  return patch.empty();
}

bool compare_files(const std::string& name, const FileData& a, const FileData& b, DiffReport& report) {
  if (a.text() == b.text()) return true;
  if (name.ends_with(".safetensors")) {
    const SafetensorsFile one = SafetensorsFile::parse(a.bytes(), name);
    const SafetensorsFile other = SafetensorsFile::parse(b.bytes(), name);
    if (!compare_tensors(one, other, name, report)) return false;
  } else if (name.ends_with(".json")) {
    if (!compare_json(a, b, name, report)) return false;
  }
  report.text += "  " + name + ": the bytes differ\n";
  report.json["files"].push_back(name);
  return false;
}

}  // namespace

DiffReport diff_tensor_files(const std::string& a, const std::string& b, const Style&) {
  const std::string one = read_real_file(a, kInputFileLimit);
  const std::string other = read_real_file(b, kInputFileLimit);
  DiffReport report;
  report.json = Json::object();
  report.identical = compare_tensors(SafetensorsFile::parse(std::as_bytes(std::span(one)), a),
                                     SafetensorsFile::parse(std::as_bytes(std::span(other)), b), "", report);
  return report;
}

DiffReport diff_checkpoints(const std::string& a, const std::string& b, const Style&) {
  const CheckpointOnDisk one = read_checkpoint_directory(a);
  const CheckpointOnDisk other = read_checkpoint_directory(b);
  DiffReport report;
  report.json = Json::object();
  std::set<std::string> names;
  for (const auto& [name, data] : one.files) names.insert(name);
  for (const auto& [name, data] : other.files) names.insert(name);
  for (const std::string& name : names) {
    const auto in_a = one.files.find(name);
    const auto in_b = other.files.find(name);
    if (in_a == one.files.end() || in_b == other.files.end()) {
      report.text += "  " + name + ": only " + (in_a == one.files.end() ? "B" : "A") + " has it\n";
      report.json["files"].push_back(name);
      report.identical = false;
    } else if (!compare_files(name, in_a->second, in_b->second, report)) {
      report.identical = false;
    }
  }
  return report;
}

}  // namespace rehearse
