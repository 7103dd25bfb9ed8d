#pragma once

#include <string>
#include <vector>

#include "sim/cluster/training_run.h"
#include "sim/config/loader.h"

// Runs of the capstone for the tests of this folder.

namespace rehearse {

// Keeps every record.
class RecordList : public EventListener {
 public:
  void on_record(const EventRecord& record) override { records.push_back(record); }
  std::vector<EventRecord> records;
};

struct RecordedRun {
  Scenario scenario;
  TrainingRecord record;
  std::vector<EventRecord> records;
};

// The capstone with `overrides`, for 3 steps unless those say otherwise.
inline RecordedRun run_capstone(const std::vector<std::string>& overrides, bool log_events = true) {
  LoadOptions options;
  options.overrides = {"train.steps=3", "checkpoint.every_steps=2", "expect.resume_from=2"};
  options.overrides.insert(options.overrides.end(), overrides.begin(), overrides.end());
  RecordedRun run;
  run.scenario = load_scenario(std::string(REHEARSE_SOURCE_DIR) + "/scenarios/capstone.textproto", options);
  RecordList list;
  TrainingHooks hooks;
  hooks.log_events = log_events;
  hooks.listeners = {&list};
  run.record = run_training(run.scenario, std::nullopt, hooks);
  run.records = std::move(list.records);
  return run;
}

// Every kind of event that training has so far: shards and none, several units, microbatches, checkpoints, ranks that
// wait for one another, and one that has nobody to wait for.
inline const std::vector<std::vector<std::string>> kVariousRuns = {
    {},
    {"train.zero_stage=0"},
    {"train.zero_stage=0", "train.bucket=20KB", "train.accumulate=2"},
    {"train.bucket=20KB", "train.clip_norm=0.5"},
    {"cluster.ranks=3", "cluster.network.jitter=3us"},
    {"cluster.ranks=1"},
    {"cluster.ranks=7", "cluster.device.slowdown[0].rank=2", "cluster.device.slowdown[0].factor=3"},
    {"cluster.network.latency=0ps", "cluster.storage.latency=0ps"},
    {"model.dtype=FLOAT64", "train.eval_every=1", "data.synthetic.noise=0.1"},
};

inline std::string words_of(const std::vector<std::string>& overrides) {
  std::string words;
  for (const std::string& override : overrides) words += override + " ";
  return words;
}

}  // namespace rehearse
