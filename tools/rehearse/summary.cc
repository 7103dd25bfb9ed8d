#include "tools/rehearse/summary.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/base/digest.h"
#include "core/checkpoint/names.h"
#include "sim/cluster/interval_report.h"
#include "sim/config/number_expectations.h"
#include "tools/rehearse/interval_json.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/recoveries_json.h"
#include "tools/rehearse/stragglers_json.h"

namespace rehearse {
namespace {

Json per_step(const std::vector<StepRecord>& steps, const std::function<double(const StepRecord&)>& value) {
  Json list = Json::array();
  for (const StepRecord& step : steps) list.push_back(json_number(value(step)));
  return list;
}

struct MemoryField {
  const char* name;
  Bytes RankMemory::*bytes;
};
constexpr MemoryField kMemoryFields[] = {
    {"parameters", &RankMemory::parameters},
    {"gradients", &RankMemory::gradients},
    {"optimizer", &RankMemory::optimizer},
    {"activations_peak", &RankMemory::activations_peak},
    {"communication_buffers", &RankMemory::communication_buffers},
    // At the end of a rank's last step.
    {"parameters_kept", &RankMemory::parameters_kept},
    {"gradients_kept", &RankMemory::gradients_kept},
};
// Of a step, without the last two.
constexpr std::span kPeakFields(kMemoryFields, 5);

Json memory_json(const std::vector<RankMemory>& memory) {
  Json per_rank = Json::array();
  Json max;
  Json mean;
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    Json one;
    one["rank"] = rank;
    for (const MemoryField& field : kMemoryFields) one[field.name] = (memory[rank].*field.bytes).count();
    per_rank.push_back(std::move(one));
  }
  for (const MemoryField& field : kMemoryFields) {
    std::int64_t largest = 0;
    double sum = 0;
    for (const RankMemory& rank : memory) {
      largest = std::max(largest, (rank.*field.bytes).count());
      sum += static_cast<double>((rank.*field.bytes).count());
    }
    max[field.name] = largest;
    mean[field.name] = sum / static_cast<double>(memory.size());
  }
  Json json;
  json["per_rank"] = std::move(per_rank);
  json["max"] = std::move(max);
  json["mean"] = std::move(mean);
  return json;
}

Json checkpoints_json(const std::vector<CheckpointRecord>& checkpoints) {
  Json list = Json::array();
  for (const CheckpointRecord& checkpoint : checkpoints) {
    Json one;
    one["step"] = checkpoint.step;
    one["directory"] = checkpoint.directory;
    one["bytes"] = total_bytes(checkpoint).count();
    one["manifest_sha256"] = manifest_sha256(checkpoint);
    list.push_back(std::move(one));
  }
  return list;
}

Json communication_json(const std::vector<CommunicationRow>& rows) {
  Json list = Json::array();
  for (const CommunicationRow& row : rows) {
    Json one;
    one["operation"] = name_of(row.operation);
    one["calls"] = row.calls;
    one["messages"] = row.messages;
    one["bytes"] = row.bytes.count();
    one["seconds"] = seconds_of(row.time);
    list.push_back(std::move(one));
  }
  return list;
}

Json transport_json(const TransportCounters& counters) {
  Json json;
  json["messages"] = counters.messages;
  json["delivered"] = counters.delivered;
  json["retransmitted"] = counters.retransmitted;
  json["bytes_retransmitted"] = counters.bytes_retransmitted.count();
  json["copied"] = counters.copied;
  json["accepted"] = counters.accepted;
  json["lost"] = counters.lost;
  json["duplicates_dropped"] = counters.again;
  json["corrupt_dropped"] = counters.corrupt;
  json["refused"] = counters.refused;
  json["on_their_way"] = counters.on_their_way();
  json["set_aside"] = counters.set_aside;
  json["delayed"] = counters.delayed;
  json["bits_inverted"] = counters.bits_inverted;
  json["corrupt_taken"] = counters.corrupt_taken;
  json["out_of_order"] = counters.held;
  json["acks"] = counters.acks;
  json["acks_lost"] = counters.acks_lost;
  json["connections_broken"] = counters.broken;
  return json;
}

// One digest of each component over all ranks and tensors, step by step; per rank and tensor they are in events.bin.
Json state_digests_json(const std::vector<StepRecord>& steps) {
  Json list = Json::array();
  for (const StepRecord& step : steps) {
    Json one;
    one["step"] = step.report.step;
    one["parameters"] = to_hex(step.parameters);
    one["gradients"] = to_hex(step.states.gradients);
    one["m"] = to_hex(step.states.first_moment);
    one["v"] = to_hex(step.states.second_moment);
    one["lr"] = json_number(step.report.lr);
    one["batch_index"] = step.report.batch_index;
    one["applied_steps"] = step.report.applied_steps;
    list.push_back(std::move(one));
  }
  return list;
}

Json faults_json(const std::vector<FaultRecord>& faults) {
  Json list = Json::array();
  for (const FaultRecord& fault : faults) {
    Json one;
    one["seconds"] = seconds_of(fault.time.since_start());
    if (fault.at.rank >= 0) one["rank"] = fault.at.rank;
    if (fault.at.step > 0) {
      one["step"] = fault.at.step;
      one["phase"] = name_of(fault.at.phase);
    }
    one["what"] = fault.what;
    // Several that failed as one.
    if (fault.failed.has_value() && fault.failed->count > 1) {
      for (int rank = fault.failed->first; rank < fault.failed->end(); ++rank) one["failed_ranks"].push_back(rank);
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json guards_json(const std::vector<GuardRecord>& guards) {
  Json list = Json::array();
  for (const GuardRecord& guard : guards) {
    Json one;
    one["seconds"] = seconds_of(guard.time.since_start());
    one["step"] = guard.report.step;
    one["reaction"] = guard.report.reaction;
    one["reason"] = guard.report.reason;
    list.push_back(std::move(one));
  }
  return list;
}

Json waiting_json(const std::vector<WaitingRow>& rows) {
  Json list = Json::array();
  for (const WaitingRow& row : rows) {
    Json one;
    one["rank"] = row.rank;
    one["activity"] = row.activity;
    one["waits_for"] = name_of(row.wait.kind);
    if (row.wait.in_call) {
      one["operation"] = name_of(row.wait.operation);
      if (row.wait.peer >= 0) one["peer"] = row.wait.peer;
      one["group"] = row.wait.group_id;
      one["generation"] = row.wait.generation;
      one["sequence"] = row.wait.sequence;
    }
    one["since_seconds"] = seconds_of(row.since.since_start());
    list.push_back(std::move(one));
  }
  return list;
}

Json fenced_json(const std::vector<FencedRecord>& fenced) {
  Json list = Json::array();
  for (const FencedRecord& record : fenced) {
    Json one;
    one["seconds"] = seconds_of(record.time.since_start());
    one["rank"] = record.rank;
    one["generation"] = record.generation;
    one["what"] = record.what;
    list.push_back(std::move(one));
  }
  return list;
}

Json reads_json(const TierReads& reads) {
  const auto place = [](std::int64_t shards, Bytes bytes) {
    Json one;
    one["shards"] = shards;
    one["bytes"] = bytes.count();
    return one;
  };
  Json json;
  json["own_disks"] = place(reads.shards_from_own_disk, reads.own_disk);
  json["other_disks"] = place(reads.shards_from_other_disks, reads.other_disks);
  json["remote"] = place(reads.shards_from_remote, reads.remote);
  return json;
}

// By which algorithms gradients are summed and parameters gathered, and where AUTO picked them, from what.
Json collectives_json(const Scenario& scenario) {
  const CollectiveChoice& choice = scenario.train.collectives;
  Json json;
  if (scenario.train.zero_stage == 0) {
    json["all_reduce"] = name_of(choice.all_reduce);
  } else {
    json["reduce_scatter"] = name_of(choice.reduce_scatter);
    json["all_gather"] = name_of(choice.all_gather);
  }
  for (const PickedAlgorithm& picked : scenario.picked) {
    Json seconds;
    for (const PickedAlgorithm::Candidate& candidate : picked.candidates) {
      seconds[candidate.algorithm] = seconds_of(candidate.time);
    }
    json["picked_by_formula"][picked.collective] = std::move(seconds);
  }
  return json;
}

// What was computed in each step.
void add_numbers(const TrainingRecord& record, Json& json) {
  json["losses"] = per_step(record.steps, [](const StepRecord& step) { return step.report.loss; });
  json["rank0_losses"] = per_step(record.steps, [](const StepRecord& step) { return step.report.rank_losses.at(0); });
  json["grad_norms"] = per_step(record.steps, [](const StepRecord& step) { return step.report.grad_norm; });
  json["param_norms"] = per_step(record.steps, [](const StepRecord& step) { return step.param_norm; });
  if (!record.event_digest.empty()) json["state_digests"] = state_digests_json(record.steps);
}

}  // namespace

Json recoveries_json(const std::vector<RecoveryRecord>& recoveries) {
  Json list = Json::array();
  for (const RecoveryRecord& recovery : recoveries) {
    Json one;
    one["kind"] = recovery.kind == RecoveryRecord::Kind::kRestart ? "restart" : "rollback";
    one["cause"] = recovery.cause;
    one["generation"] = recovery.generation;
    one["failed_seconds"] = seconds_of(recovery.failed.since_start());
    one["detected_seconds"] = seconds_of(recovery.detected.since_start());
    one["restarted_seconds"] = seconds_of(recovery.restarted.since_start());
    if (!recovery.on_spares.empty()) one["on_spares"] = recovery.on_spares;
    if (!recovery.gone.empty()) {
      one["gone"] = recovery.gone;
      one["ranks"] = recovery.ranks;
    }
    if (!recovery.suspected.empty()) one["suspected"] = recovery.suspected;
    if (!recovery.late.empty()) one["late"] = recovery.late;
    if (recovery.resumed > recovery.failed) {
      one["resumed_seconds"] = seconds_of(recovery.resumed.since_start());
      one["resumed_step"] = recovery.resumed_step;
      one["from_checkpoint"] = recovery.from_checkpoint;
      one["steps_lost"] = recovery.last_step - recovery.resumed_step;
      if (recovery.skipped_batches > 0) one["skipped_batches"] = recovery.skipped_batches;
      one["bytes_read"] = recovery.read.count();
      if (recovery.has_tiers) one["read_by_tier"] = reads_json(recovery.reads);
    }
    if (!recovery.rejected.empty()) one["rejected"] = recovery.rejected;
    if (!recovery.refused_copies.empty()) one["refused_copies"] = recovery.refused_copies;
    list.push_back(std::move(one));
  }
  return list;
}

Json expectations_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json one;
    one["name"] = verdict.name;
    one["held"] = verdict.held;
    one["detail"] = verdict.detail;
    list.push_back(std::move(one));
  }
  return list;
}

std::string write_summary(const FinishedRun& run) {
  const Scenario& scenario = *run.scenario;
  const TrainingRecord& record = run.record;
  Json json;
  json["scenario"] = scenario.name;
  json["seed"] = scenario.seed;
  json["outcome"] = name_of(record.outcome);
  json["exit_code"] = static_cast<int>(run.exit_code);
  if (!record.failure.empty()) json["failure"] = record.failure;
  json["scenario_sha256"] = scenario.scenario_sha256;
  json["arithmetic_sha256"] = scenario.arithmetic_sha256;
  if (!record.weights_sha256.empty()) json["weights_sha256"] = record.weights_sha256;
  if (!record.event_digest.empty()) json["event_digest"] = record.event_digest;
  json["events"] = record.events;
  json["messages"] = record.messages;
  json["bytes_on_wire"] = record.bytes_on_wire.count();
  json["simulated_seconds"] = seconds_of(record.simulated.since_start());
  json["wall_seconds"] = run.wall_seconds;
  if (record.first_step > 1) json["resumed_from"] = record.first_step - 1;
  json["steps"] = record.first_step - 1 + static_cast<std::int64_t>(record.steps.size());
  if (scenario.cost_only) {
    json["mode"] = "COST";
    const std::vector<std::string> not_judged = number_expectations(scenario);
    if (!not_judged.empty()) json["not_judged"] = not_judged;
    json["step_seconds"] = per_step(record.steps, [](const StepRecord& step) { return seconds_of(step.step_seconds); });
  } else {
    add_numbers(record, json);
  }
  if (!record.faults.empty()) json["faults"] = faults_json(record.faults);
  if (!record.faults_not_struck.empty()) json["faults_not_struck"] = record.faults_not_struck;
  if (!record.guards.empty()) json["guards"] = guards_json(record.guards);
  json["recoveries"] = recoveries_json(record.recoveries);
  if (!record.fenced.empty()) json["fenced"] = fenced_json(record.fenced);
  add_stragglers(struck_lemons(scenario, failures_of(record)), record.stragglers, json);
  json["goodput"] = json_number(goodput_of(record));
  json["exposed"] = json_number(exposed_of(record));
  if (const auto interval = interval_report(scenario, record)) json["checkpoint_interval"] = interval_json(*interval);
  if (!record.evals.empty()) {
    Json evals = Json::array();
    for (const EvalRecord& eval : record.evals) {
      evals.push_back(Json{{"step", eval.step}, {"loss", json_number(eval.loss)}});
    }
    json["eval_losses"] = std::move(evals);
  }
  if (record.accumulation_difference) {
    json["accumulation_difference"] = json_number(*record.accumulation_difference);
  }
  json["memory"] = memory_json(record.memory);
  if (scenario.train.checkpoint.any()) json["checkpoints"] = checkpoints_json(record.checkpoints);
  if (scenario.train.checkpoint.tiers.has_value()) json["local_saves"] = record.local_saves;
  for (const CheckpointFailure& failure : record.checkpoint_failures) {
    json["checkpoint_failures"].push_back(text_of(failure));
  }
  json["collectives"] = collectives_json(scenario);
  json["communication"] = communication_json(record.communication);
  if (record.transport.has_value()) json["transport"] = transport_json(*record.transport);
  if (!record.waiting.empty()) json["waiting"] = waiting_json(record.waiting);
  json["expectations"] = expectations_json(run.verdicts);
  if (!record.violations.empty()) json["violations"] = record.violations;
  // What came from a user's file may hold any bytes: whatever is not UTF-8 is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string write_metrics_line(const StepRecord& step, bool has_numbers) {
  Json json;
  json["step"] = step.report.step;
  json["attempt"] = step.attempt;
  json["generation"] = step.generation;
  json["applied_steps"] = step.report.applied_steps;
  if (has_numbers) {
    json["loss"] = json_number(step.report.loss);
    json["grad_norm"] = json_number(step.report.grad_norm);
    json["lr"] = json_number(step.report.lr);
    json["param_norm"] = json_number(step.param_norm);
  }
  json["step_seconds"] = seconds_of(step.step_seconds);
  json["tokens"] = step.report.tokens;
  json["recoveries"] = step.recoveries;
  // The most that any rank has held so far, in bytes.
  for (const MemoryField& field : kPeakFields) json["memory"][field.name] = (step.memory.*field.bytes).count();
  return json.dump();
}

std::string manifest_sha256(const CheckpointRecord& checkpoint) {
  const auto manifest = checkpoint.files.find(kManifestFile);
  return manifest == checkpoint.files.end() ? "missing" : sha256_hex(manifest->second.bytes());
}

Bytes total_bytes(const CheckpointRecord& checkpoint) {
  Bytes total;
  for (const auto& [name, data] : checkpoint.files) total += data.size();
  return total;
}

}  // namespace rehearse
