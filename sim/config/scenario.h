#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/config.h"
#include "core/train/config.h"
#include "sim/compute/config.h"
#include "sim/config/job_config.h"
#include "sim/fault/config.h"
#include "sim/fault/failure_domains.h"
#include "sim/fault/recovery_config.h"
#include "sim/net/config.h"
#include "sim/storage/config.h"

namespace rehearse {

struct Scenario;

// How a run can end.
enum class Outcome : std::uint8_t { kDone, kStopped, kFailed, kDeadlock, kInterrupted };
const char* name_of(Outcome outcome);  // as in scenario files and summaries: "DONE"

// The final weights that `expect { same_weights_as }` names: exactly one of the two.
struct WeightsReference {
  std::string text;                          // as written: a path, or "sha256:..."
  std::string sha256;                        // of the final weights; empty for a scenario
  std::shared_ptr<const Scenario> scenario;  // to be run for its final weights; its own expectations are not kept
};

// What must come of a run, field by field as in the schema (scenario.proto). The loader has seen to it that steps exist
// and that nothing contradicts.
struct Expectations {
  Outcome outcome = Outcome::kDone;
  std::optional<std::int64_t> final_step;
  bool loss_falls = false;
  bool eval_loss_falls = false;
  std::optional<std::int64_t> resume_from;
  std::optional<std::string> weights_sha256;
  std::optional<std::string> event_digest;
  std::optional<WeightsReference> same_weights_as;
  std::optional<std::int64_t> recoveries;  // restarts
  std::optional<std::int64_t> failed_saves;
  std::optional<std::int64_t> refused_checkpoints;
  std::optional<std::int64_t> shards_from_other_disks;
  std::optional<std::int64_t> shards_from_remote;
  std::optional<std::int64_t> refused_copies;
  std::optional<std::int64_t> rollbacks;
  std::optional<std::int64_t> skipped_steps;
  std::optional<std::int64_t> lost_steps;
  std::optional<double> exposed_above;
  std::optional<double> exposed_below;
  std::optional<double> goodput_above;
  std::optional<double> goodput_below;
  std::optional<std::string> cause;  // words of a recovery's cause, or of the reason for the run's end
  std::optional<double> final_loss_below;
  std::optional<double> max_accumulation_difference;
};

// A collective whose algorithm was left to be picked.
struct PickedAlgorithm {
  std::string collective;  // "all_reduce"
  // By formula, for all units of a step, one after the other; in the order in which equal ones are preferred.
  struct Candidate {
    std::string algorithm;  // "ring"
    Duration time;
  };
  std::vector<Candidate> candidates;
  std::size_t picked = 0;
};

// True where the run must give certain weights or a certain number, not merely end: every scenario of ours does.
bool expects_weights_or_number(const Expectations& expect);

// A scenario that has been read, checked and completed with its defaults; plain values, nothing of Protobuf.
struct Scenario {
  std::string name;
  std::string file_path;  // as given; paths of inputs are relative to its folder
  std::string story;      // the comment lines that the file begins with, without their #
  std::string text;       // as run: overrides applied, defaults written out, in canonical form; loads to the same run
  std::uint64_t seed = 1;
  bool cost_only = false;  // without numbers
  int ranks = 1;
  HostLayout hosts;
  TrainConfig train;             // with data_ranks, always; means nothing where there is a job
  std::optional<JobConfig> job;  // instead of model, data and train
  NetworkConfig network;
  std::optional<TransportConfig> transport;  // where it is asked for, or something can be lost
  std::vector<PickedAlgorithm> picked;       // by AUTO; `train.collectives` has what was picked
  std::optional<double> price_per_rank_hour;
  DeviceConfig device;
  std::string device_name;   // a preset, or the flop rate as text: for reports
  StorageConfig storage;     // that all hosts share
  StorageConfig local_disk;  // of each host, where checkpoints have two tiers
  FaultPlan faults;
  RecoveryConfig recovery;
  Expectations expect;
  std::vector<InputFile> inputs;  // every file the scenario names, in the order of the schema
  std::string scenario_sha256;    // everything, and the contents of the inputs
  // Expectations that pin a digest of the file as written and were dropped, because overrides changed what decides it.
  std::vector<std::string> dropped_pins;
  std::string arithmetic_sha256;  // what decides the bits: seed, model, data, train, layout and contents of the inputs

  // Ranks that faults and slowdowns may name: those of the job as it was planned count where it now has fewer.
  int known_ranks() const;
  // "0 to cluster.ranks - 1 = 3", of those.
  std::string allowed_ranks() const;
};

}  // namespace rehearse
