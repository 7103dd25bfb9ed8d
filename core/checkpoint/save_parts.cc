#include "core/checkpoint/save_parts.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/checkpoint/directory.h"
#include "core/checkpoint/names.h"

namespace rehearse {
namespace {

// First byte of a report; the rest is the shard's record, or what went wrong.
constexpr char kWritten = '+';
constexpr char kFailed = '-';

}  // namespace

CheckpointRest rest_of(const CheckpointDraft& draft, std::vector<ShardRecord> shards) {
  CheckpointRest rest;
  Manifest manifest = draft.manifest;
  manifest.shards = std::move(shards);
  manifest.model = record_of(kModelFile, draft.model);
  rest.manifest = write_manifest(manifest);

  RunState state;
  state.manifest_sha256 = sha256_hex(rest.manifest);
  state.simulated_time = draft.simulated_time;
  state.generation = draft.generation;
  state.outside = draft.outside;
  state.scenario_sha256 = draft.scenario_sha256;
  rest.files[kModelFile] = draft.model;
  rest.files[kScenarioFile] = host_payload(draft.scenario_text);
  state.scenario = record_of(kScenarioFile, rest.files[kScenarioFile]);
  for (const CheckpointInput& input : draft.inputs) {
    InputRecord record;
    record.path = input.path;
    record.sha256 = input.sha256;
    record.bytes = static_cast<std::int64_t>(input.contents->size());
    if (record.bytes <= kInputCopyLimit) {
      record.copy = input_copy_name(static_cast<std::int64_t>(state.inputs.size()), input.path);
      rest.files[*record.copy] = host_payload(*input.contents);
    }
    state.inputs.push_back(record);
  }
  rest.files[kRunStateFile] = host_payload(write_run_state(state));
  return rest;
}

FileRecord record_of(const std::string& name, const Payload& data) {
  FileRecord record;
  record.file = name;
  record.bytes = data.size().count();
  record.sha256 = data.has_data() ? sha256_hex(data.bytes()) : std::string(64, '0');
  return record;
}

std::string report_written(const ShardRecord& shard) { return kWritten + write_shard_record(shard); }

std::string report_failed(std::string_view problem) { return kFailed + std::string(problem); }

std::string collect_reports(const std::vector<std::string>& reports, std::vector<ShardRecord>& shards) {
  std::string problems;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const std::string& report = reports[rank];
    CHECK(!report.empty());
    if (report[0] == kWritten) {
      shards.push_back(parse_shard_record(std::string_view(report).substr(1), "rank " + std::to_string(rank)));
    } else {
      problems += (problems.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " + report.substr(1);
    }
  }
  return problems;
}

}  // namespace rehearse
