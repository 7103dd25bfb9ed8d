#include "tools/rehearse/report_header.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/numbers.h"
#include "core/comm/algorithms.h"
#include "core/model/layout.h"
#include "core/train/batch_share.h"
#include "sim/config/device_presets.h"
#include "sim/config/number_expectations.h"
#include "sim/fault/fault_when.h"
#include "sim/net/topology.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

std::string count_of(std::int64_t count, const std::string& noun) {
  const char* plural = noun.ends_with('h') ? "es" : "s";
  return grouped(count) + " " + noun + (count == 1 ? "" : plural);
}

struct DataLine {
  std::string operator()(const MarkovConfig& data) const {
    const std::string noise = data.noise_ppb == 0 ? "no noise" : "noise " + significant(data.noise_ppb / 1e9, 9);
    return "synthetic MARKOV: " + count_of(data.states, "state") + " in one cycle, " + noise;
  }
  std::string operator()(const TextConfig& data) const { return of_file("characters of ", data.file); }
  std::string operator()(const TokensConfig& data) const { return of_file("tokens of ", data.file); }

  static std::string of_file(const std::string& what, const InputFile& file) {
    return what + file.path + " (" + to_string(Bytes(static_cast<std::int64_t>(file.contents->size()))) + ", sha256 " +
           file.sha256.substr(0, 12) + "...)";
  }
};

std::string train_line(const TrainConfig& train, int ranks) {
  const BatchShare share = share_of_batch(train, ranks);
  std::string line = count_of(train.steps, "step") + ", " + count_of(share.sequences, "sequence") + " a rank and step";
  if (share.microbatches > 1) line += " in " + std::to_string(share.microbatches) + " microbatches";
  if (train.recompute_blocks) line += ", blocks computed again for backward";
  line += train.adam.weight_decay > 0 ? ", AdamW lr " : ", Adam lr ";
  line += significant(train.adam.lr, 6);
  if (train.schedule.warmup_steps > 0) line += ", warm-up " + std::to_string(train.schedule.warmup_steps);
  if (train.schedule.cosine) line += ", cosine to " + significant(train.schedule.min_lr, 6);
  if (train.clip_norm) line += ", clip " + significant(*train.clip_norm, 6);
  if (train.lr_spike) {
    line += ", lr x " + significant(train.lr_spike->factor, 6) + " in step " + std::to_string(train.lr_spike->step);
  }
  return line;
}

std::string network_line(const NetworkConfig& network) {
  if (network.fabric == FabricKind::kIdeal) return "ideal: messages take no time";
  std::string line = "switch, ";
  if (network.topology != nullptr) {
    line = std::to_string(network.topology->nodes() - network.topology->ranks()) + " switches and " +
           std::to_string(network.topology->links()) + " links, ";
  }
  line += to_string(network.latency) + " one way, " + to_string(network.bandwidth) + " a port";
  if (network.fabric == FabricKind::kMaxMin) line += ", links shared fairly";
  if (network.fabric == FabricKind::kAlphaBeta) line += ", without contention";
  if (network.overhead > Duration()) line += ", overhead " + to_string(network.overhead);
  if (network.gap > Duration()) line += ", gap " + to_string(network.gap);
  if (network.jitter > Duration()) line += ", jitter up to " + to_string(network.jitter);
  return line;
}

std::string transport_line(const TransportConfig& transport) {
  std::string line = "reliable: sends again after ";
  line += transport.retransmission_timeout.has_value() ? to_string(*transport.retransmission_timeout)
                                                       : std::string("4 times what a message usually takes");
  line += ", at most " + count_of(transport.max_retries, "time");
  return line + (transport.checksums ? "" : ", WITHOUT CHECKSUMS");
}

std::string type_text(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kFloat64:
      return "float64";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kFloat16:
      return "float16";
    case DType::kInt32:
      break;
  }
  check_failed(__FILE__, __LINE__, "no model has this type");
}

std::string roofline_text(const Roofline& roofline, DType dtype) {
  const auto tflops = [](FlopRate rate) {
    return significant(static_cast<double>(rate.per_second()) / 1e12, 6) + " TFLOPS";
  };
  std::string text = ", " + tflops(roofline.peak(dtype)) + " in " + type_text(dtype);
  text += ", memory " + significant(static_cast<double>(roofline.memory_bandwidth.bits_per_second()) / 8e9, 6);
  return text + " GB/s, " + to_string(roofline.launch_overhead) + " a kernel";
}

std::string device_line(const Scenario& scenario) {
  std::string line = scenario.device_name;
  if (scenario.device.roofline.has_value()) line += roofline_text(*scenario.device.roofline, scenario.train.dtype);
  if (find_device_preset(line) != nullptr) {
    line += ", " + significant(static_cast<double>(scenario.device.rate.per_second()) / 1e12, 6) + " TFLOPS";
  }
  for (const RankSlowdown& slow : scenario.device.slowdowns) {
    line += ", rank " + std::to_string(slow.rank) + " x " +
            significant(static_cast<double>(slow.numerator) / static_cast<double>(slow.denominator), 6) + " as slow";
  }
  return line;
}

std::string checkpoint_line(const CheckpointConfig& checkpoint) {
  if (!checkpoint.any()) return "none";
  std::string line;
  if (checkpoint.every_steps > 0) line = "after every " + count_of(checkpoint.every_steps, "step");
  if (checkpoint.every_steps == 1) line = "after every step";
  if (checkpoint.every_time > Duration()) {
    line += (line.empty() ? "after a step, every " : ", and every ") + to_string(checkpoint.every_time);
  }
  if (checkpoint.asynchronous) line += ", beside training";
  if (checkpoint.tiers.has_value()) {
    const std::int64_t every = checkpoint.tiers->upload_every;
    line += ", on local disks; " + (every == 1 ? std::string("each") : "one of " + std::to_string(every)) + " uploaded";
  }
  return line + (checkpoint.keep == 0 ? ", all kept" : ", the newest " + std::to_string(checkpoint.keep) + " kept");
}

// "AUTO: all_reduce by ring, 1.2 ms a step by formula (halving_doubling 2.1 ms, ...)".
std::string picked_line(const PickedAlgorithm& picked) {
  const PickedAlgorithm::Candidate& best = picked.candidates[picked.picked];
  std::string line =
      "AUTO: " + picked.collective + " by " + best.algorithm + ", " + to_string(best.time) + " a step by formula";
  std::string others;
  for (const PickedAlgorithm::Candidate& other : picked.candidates) {
    if (other.algorithm == best.algorithm) continue;
    others += (others.empty() ? "" : ", ") + other.algorithm + " " + to_string(other.time);
  }
  return others.empty() ? line : line + " (" + others + ")";
}

// The story's paragraphs, wrapped.
std::string story_text(const std::string& story) {
  std::string out;
  std::string paragraph;
  const auto end_paragraph = [&] {
    out += wrapped(paragraph, "", kReportColumns);
    paragraph.clear();
  };
  for (std::size_t start = 0; start < story.size();) {
    const std::size_t end = std::min(story.find('\n', start), story.size());
    const std::string line = story.substr(start, end - start);
    if (line.empty()) end_paragraph();
    paragraph += line + " ";
    start = end + 1;
  }
  end_paragraph();
  return out;
}

// "ROLLBACK of a loss over 2 times the one before, at most 3 times".
std::string guard_line(const GuardConfig& guards) {
  std::string text;
  if (guards.nonfinite) text += std::string(name_of(*guards.nonfinite)) + " at a NaN or an infinity";
  if (guards.loss_spike) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(*guards.loss_spike)) + " at a loss over " +
            shortest_text(guards.spike_factor) + " times the one before";
    if (guards.median_window > 0) text += " or the median of " + std::to_string(guards.median_window);
  }
  if (guards.corruption) {
    text += (text.empty() ? "" : ", ") + std::string(name_of(*guards.corruption)) + " at state that changed by itself";
    if (guards.recompute_every > 0) {
      const std::int64_t every = guards.recompute_every;
      text += " or at a gradient that another rank does not come to, asked every " +
              (every == 1 ? std::string("step") : count_of(every, "step"));
    }
  }
  return text + "; at most " + count_of(guards.max_consecutive_skips, "skip") + " in a row and " +
         count_of(guards.max_rollbacks, "rollback");
}

}  // namespace

std::string field_line(const std::string& name, const std::string& value) {
  return "  " + name + std::string(12 - std::min<std::size_t>(name.size(), 11), ' ') + value + "\n";
}

std::string section_title(const std::string& text, const Style& style) {
  std::string line = "\n";
  line += style.bold(text);
  line += "\n";
  return line;
}

// What is not the MiniGPT's.
std::string shape_text(const ModelConfig& model) {
  std::string text;
  if (model.kv_heads > 0) text += ", " + count_of(model.kv_heads, "kv head");
  if (model.ffn > 0) text += ", ffn " + grouped(model.ffn);
  if (model.mlp == Mlp::kSwiGlu) text += ", SwiGLU";
  if (model.norm == Norm::kRmsNorm) text += ", RMSNorm";
  if (model.positions == Positions::kRotary) text += ", rotary positions";
  if (model.attention == Attention::kFlash) text += ", fused attention";
  if (model.attention_bias) text += ", attention biases";
  if (!model.mlp_bias && model.mlp == Mlp::kGelu) text += ", no MLP biases";
  if (model.mlp_bias && model.mlp == Mlp::kSwiGlu) text += ", MLP biases";
  if (model.tied_embeddings) text += ", tied embeddings";
  return text;
}

std::string types_text(const StateTypes& types) {
  std::string text = type_text(types.parameters);
  if (types.gradients != types.parameters) text += ", gradients " + type_text(types.gradients);
  if (types.optimizer != types.parameters) text += ", optimizer " + type_text(types.optimizer);
  return text;
}

std::string model_line(const Scenario& scenario) {
  const ModelConfig& model = scenario.train.model;
  return std::string(model.is_mini_gpt() ? "MiniGPT: " : "transformer: ") + count_of(model.layers, "layer") +
         ", embed " + std::to_string(model.embed) + ", " + count_of(model.heads, "head") + ", vocab " +
         grouped(model.vocab) + ", context " + grouped(model.context) + shape_text(model) + "; " +
         grouped(ParameterLayout(model).total()) + " parameters, " + types_text(scenario.train.state_types());
}

std::string hosts_text(const Scenario& scenario) {
  const HostLayout& hosts = scenario.hosts;
  std::string text;
  if (hosts.ranks_per_host > 1) text += " on " + count_of(hosts.hosts_of(scenario.ranks), "host");
  if (hosts.hosts_per_rack > 0) text += " in " + count_of(hosts.racks_of(scenario.ranks), "rack");
  return text;
}

// Nothing where all are rings.
std::string collectives_text(const TrainConfig& train) {
  const CollectiveChoice& choice = train.collectives;
  std::string text;
  const auto add = [&](const char* collective, const char* algorithm) {
    if (std::string_view(algorithm) != "ring") text += std::string(", ") + collective + " by " + algorithm;
  };
  add("all_reduce", name_of(choice.all_reduce));
  add("reduce_scatter", name_of(choice.reduce_scatter));
  add("all_gather", name_of(choice.all_gather));
  return text;
}

const char* sharding_text(int zero_stage) {
  switch (zero_stage) {
    case 0:
      return "optimizer whole on every rank (DDP, zero_stage 0)";
    case 1:
      return "optimizer sharded (ZeRO-1, zero_stage 1)";
    case 2:
      return "optimizer and gradients sharded (ZeRO-2, zero_stage 2)";
    default:
      return "optimizer, gradients and parameters sharded (ZeRO-3, zero_stage 3)";
  }
}

std::string layout_line(const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  std::string line = std::to_string(scenario.ranks) + hosts_text(scenario) + ", data-parallel, ";
  line += sharding_text(train.zero_stage);
  if (train.bucket_bytes > 0) line += ", buckets of " + to_string(Bytes(train.bucket_bytes));
  if (train.overlap) line += ", communication beside computation";
  line += collectives_text(train);
  if (train.data_ranks != scenario.ranks) line += ", batches of " + count_of(train.data_ranks, "rank");
  return line;
}

std::string title_report(const Scenario& scenario, const Style& style) {
  return style.bold(scenario.name) + "\n" + story_text(scenario.story) + "\n";
}

std::string header_report(const Scenario& scenario, std::int64_t resumed_from, const Style& style) {
  std::string out = title_report(scenario, style);
  if (resumed_from > 0) {
    out += field_line("continues", "from the checkpoint of step " + std::to_string(resumed_from) + " to step " +
                                       std::to_string(scenario.train.steps));
  }
  if (scenario.cost_only) out += field_line("mode", "COST: the same program and times, without numbers");
  out += field_line("seed", std::to_string(scenario.seed));
  out += field_line("ranks", layout_line(scenario));
  for (const PickedAlgorithm& picked : scenario.picked) out += field_line("picked", picked_line(picked));
  out += field_line("model", model_line(scenario));
  if (scenario.train.init_file) out += field_line("initial", DataLine::of_file("", *scenario.train.init_file));
  out += field_line("data", std::visit(DataLine(), scenario.train.data));
  out += field_line("train", train_line(scenario.train, scenario.ranks));
  out += field_line("network", network_line(scenario.network));
  if (scenario.transport.has_value()) out += field_line("transport", transport_line(*scenario.transport));
  out += field_line("device", device_line(scenario));
  if (scenario.train.checkpoint.any()) {
    out += field_line("storage",
                      to_string(scenario.storage.latency) + " an operation, " + to_string(scenario.storage.bandwidth));
  }
  if (scenario.train.checkpoint.tiers.has_value()) {
    const std::int64_t distance = scenario.train.checkpoint.tiers->replica_distance;
    std::string copies =
        distance == 0 ? "no second copies" : "second copies " + count_of(distance, "host") + " further on";
    out += field_line("local disks", to_string(scenario.local_disk.latency) + " an operation, " +
                                         to_string(scenario.local_disk.bandwidth) + "; " + copies);
  }
  out += field_line("checkpoints", checkpoint_line(scenario.train.checkpoint));
  if (!scenario.faults.empty()) {
    std::string faults;
    std::vector<std::pair<std::string, std::int64_t>> counts;  // by kind, in the plan's order
    for (const Fault& fault : scenario.faults.faults) {
      const std::string name = name_of(fault);
      if (counts.empty() || counts.back().first != name) counts.emplace_back(name, 0);
      ++counts.back().second;
    }
    const auto disk = static_cast<std::int64_t>(scenario.faults.storage.size());
    if (disk > 0) counts.emplace_back("storage fault", disk);
    const auto links = static_cast<std::int64_t>(scenario.faults.network.faults.size());
    if (links > 0) counts.emplace_back("network fault", links);
    const auto rates = static_cast<std::int64_t>(scenario.faults.rates.size());
    if (rates > 0) counts.emplace_back("failure rate", rates);
    for (const auto& [name, count] : counts) faults += (faults.empty() ? "" : ", ") + count_of(count, name.c_str());
    out += field_line("faults", faults);
  }
  const auto& all = scenario.faults.faults;
  const bool recovers = std::any_of(all.begin(), all.end(), [](const Fault& fault) {
    return std::holds_alternative<CrashFault>(fault.kind) || std::holds_alternative<HangFault>(fault.kind) ||
           std::holds_alternative<ProgramFault>(fault.kind);
  });
  if (scenario.train.guards.any()) out += field_line("guards", guard_line(scenario.train.guards));
  if (recovers || !scenario.faults.storage.empty() || !scenario.faults.rates.empty() ||
      scenario.transport.has_value()) {
    std::string recovery = "at most " + count_of(scenario.recovery.max_restarts, "restart") + ", " +
                           to_string(scenario.recovery.restart_delay) + " each";
    if (scenario.recovery.spares > 0) recovery += "; " + count_of(scenario.recovery.spares, "spare host");
    if (scenario.recovery.mode == RecoveryMode::kElastic) {
      recovery += "; ELASTIC, down to " + count_of(scenario.recovery.min_ranks, "rank");
    }
    out += field_line("recovery", recovery);
  }
  if (scenario.cost_only) {
    std::string names;
    for (const std::string& name : number_expectations(scenario)) names += (names.empty() ? "" : ", ") + name;
    if (!names.empty()) out += field_line("note", "without numbers these are not judged: " + names);
  }
  for (const std::string& pin : scenario.dropped_pins) {
    out += field_line("note", "the file's " + pin + " is of the scenario as written; it is not expected of this one");
  }
  return out;
}

std::string network_field(const Scenario& scenario) { return field_line("network", network_line(scenario.network)); }

}  // namespace rehearse
