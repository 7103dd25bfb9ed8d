#include "core/base/digest.h"
#include "core/checkpoint/names.h"
#include "core/formats/safetensors.h"
#include "tools/rehearse/checkpoint_directory.h"
#include "tools/rehearse/inspect.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kRangesShown = 3;

// "0:[0, 7456) 1:[32, 64)", unit and elements of it.
std::string ranges_text(const std::vector<ShardRange>& ranges) {
  std::string text;
  for (std::size_t i = 0; i < ranges.size() && i < kRangesShown; ++i) {
    if (i > 0) text += " ";
    text += std::to_string(ranges[i].unit) + ":[" + grouped(ranges[i].param_shard_offset) + ", " +
            grouped(ranges[i].end()) + ")";
  }
  if (ranges.size() > kRangesShown) text += " and " + std::to_string(ranges.size() - kRangesShown) + " more";
  return ranges.empty() ? "padding alone" : text;
}

std::string schedule_text(const ScheduleRecord& schedule) {
  std::string text = "lr " + significant(schedule.lr, 6) + ", " + std::to_string(schedule.total_steps) + " steps";
  if (schedule.warmup_steps > 0) text += ", warm-up " + std::to_string(schedule.warmup_steps);
  if (schedule.cosine) text += ", cosine to " + significant(schedule.min_lr, 6);
  if (schedule.lr_spike) {
    text += ", x " + significant(schedule.lr_spike->factor, 6) + " in step " + std::to_string(schedule.lr_spike->step);
  }
  return text;
}

std::string text_report(const CheckpointOnDisk& checkpoint, const std::string& path, const Style& style) {
  const Manifest& manifest = checkpoint.manifest;
  const RunState& state = checkpoint.run_state;
  std::string out = style.bold("checkpoint " + path) + "\n\n";
  out +=
      field_line("step", std::to_string(manifest.step) + "; next batch index " + std::to_string(manifest.batch_index) +
                             ", applied steps " + std::to_string(manifest.applied_steps));
  out += field_line("ranks", std::to_string(manifest.world_size) + " = data " + std::to_string(manifest.layout.data) +
                                 " x tensor " + std::to_string(manifest.layout.tensor) + " x pipeline " +
                                 std::to_string(manifest.layout.pipeline) + ", zero_stage " +
                                 std::to_string(manifest.zero_stage));
  out += field_line("parameters", grouped(manifest.numel()) + " in " + std::to_string(manifest.parameters.size()) +
                                      " tensors, " + name_of(manifest.dtype));
  out += field_line("schedule", schedule_text(manifest.schedule));
  for (const RandomStreamRecord& stream : manifest.random_streams) {
    out += field_line("stream", stream.name + " at draw " + std::to_string(stream.position));
  }
  out += field_line("simulated",
                    to_string(state.simulated_time.since_start()) + ", generation " + std::to_string(state.generation));
  for (const InputRecord& input : state.inputs) {
    out += field_line("input", input.path + (input.copy ? " as " + *input.copy : " (not copied)") + ", sha256 " +
                                   input.sha256.substr(0, 16) + "...");
  }

  TextTable shards(
      {{"rank"}, {"file", Align::kLeft}, {"bytes"}, {"unit:[elements)", Align::kLeft}, {"sha256", Align::kLeft}});
  for (const ShardRecord& shard : manifest.shards) {
    shards.add({std::to_string(shard.rank), shard.file.file, grouped(shard.file.bytes), ranges_text(shard.ranges),
                shard.file.sha256.substr(0, 16) + "..."});
  }
  shards.add({"", manifest.model.file, grouped(manifest.model.bytes), "all parameters",
              manifest.model.sha256.substr(0, 16) + "..."});
  out += section_title("Files", style) + shards.text(style);

  TextTable units({{"unit"}, {"first parameter", Align::kLeft}, {"parameters"}, {"elements"}, {"with padding"}});
  for (std::size_t u = 0; u < manifest.units.size(); ++u) {
    const UnitRecord& unit = manifest.units[u];
    units.add({std::to_string(u), unit.first_parameter, std::to_string(unit.parameters), grouped(unit.numel),
               grouped(unit.padded_numel)});
  }
  out += section_title("Units of sharding, from the end of the flat vector", style) + units.text(style);

  TextTable tensors({{"tensor", Align::kLeft}, {"shape", Align::kLeft}, {"elements"}});
  for (const ParameterRecord& tensor : manifest.parameters) {
    tensors.add({tensor.name, shape_text(tensor.shape), grouped(tensor.numel())});
  }
  out += section_title("Tensors, in flat order", style) + tensors.text(style) + "\n";

  out += "  manifest_sha256    " + state.manifest_sha256 + "\n";
  out += "  arithmetic_sha256  " + manifest.arithmetic_sha256 + "\n";
  out += "  scenario_sha256    " + state.scenario_sha256 + "\n";
  return out + "  " + style.good("verified") + ": every hash, size and range of " +
         std::to_string(checkpoint.files.size()) + " files\n";
}

std::string json_report(const CheckpointOnDisk& checkpoint) {
  Json json;
  json["kind"] = "checkpoint";
  json["verified"] = true;
  json["manifest_sha256"] = checkpoint.run_state.manifest_sha256;
  // Verified to be in the one form there is; its own names are the best.
  json["manifest"] = Json::parse(checkpoint.files.at(kManifestFile).text());
  json["run_state"] = Json::parse(checkpoint.files.at(kRunStateFile).text());
  return json.dump(2) + "\n";
}

}  // namespace

std::string inspect_checkpoint(const std::string& path, Format format, const Style& style) {
  const CheckpointOnDisk checkpoint = read_checkpoint_directory(path);
  // Its scenario has to load as well: a checkpoint is what a run can continue from.
  load_checkpoint_scenario(checkpoint, path);
  return format == Format::kJson ? json_report(checkpoint) : text_report(checkpoint, path, style);
}

std::string inspect_tensors(std::string_view contents, const std::string& path, Format format, const Style& style) {
  const SafetensorsFile file = SafetensorsFile::parse(std::as_bytes(std::span(contents)), path);
  if (format == Format::kJson) {
    Json json;
    json["kind"] = "safetensors";
    json["sha256"] = sha256_hex(contents);
    if (!file.metadata().empty()) json["metadata"] = file.metadata();
    json["tensors"] = Json::array();
    for (const TensorView& tensor : file.tensors()) {
      json["tensors"].push_back(Json{{"name", tensor.name},
                                     {"dtype", name_of(tensor.dtype)},
                                     {"shape", tensor.shape},
                                     {"bytes", tensor.data.size()},
                                     {"sha256", sha256_hex(tensor.data)}});
    }
    return json.dump(2) + "\n";
  }
  TextTable table(
      {{"tensor", Align::kLeft}, {"type", Align::kLeft}, {"shape", Align::kLeft}, {"bytes"}, {"sha256", Align::kLeft}});
  for (const TensorView& tensor : file.tensors()) {
    table.add({tensor.name, name_of(tensor.dtype), shape_text(tensor.shape),
               grouped(static_cast<std::int64_t>(tensor.data.size())), sha256_hex(tensor.data).substr(0, 16) + "..."});
  }
  std::string out = style.bold("tensor file " + path) + "\n\n" + table.text(style) + "\n";
  for (const auto& [key, value] : file.metadata()) out += field_line(key, value);
  out += field_line("bytes", grouped(static_cast<std::int64_t>(contents.size())));
  return out + field_line("sha256", sha256_hex(contents));
}

std::string inspect_scenario(const Scenario& scenario, Format format, const Style& style) {
  if (format == Format::kJson) {
    Json json;
    json["kind"] = "scenario";
    json["scenario"] = scenario.name;
    json["scenario_sha256"] = scenario.scenario_sha256;
    if (!scenario.job.has_value()) json["arithmetic_sha256"] = scenario.arithmetic_sha256;
    json["text"] = scenario.text;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  std::string out = style.bold("scenario " + scenario.file_path) + ", defaults written out\n\n" + scenario.text + "\n";
  for (const InputFile& input : scenario.inputs) {
    out += field_line("input", input.path + ", sha256 " + input.sha256);
  }
  out += "  scenario_sha256    " + scenario.scenario_sha256 + "\n";
  if (scenario.job.has_value()) return out;  // it has no arithmetic
  return out + "  arithmetic_sha256  " + scenario.arithmetic_sha256 + "\n";
}

}  // namespace rehearse
