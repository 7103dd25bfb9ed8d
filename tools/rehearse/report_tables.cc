#include <algorithm>
#include <map>
#include <utility>

#include "core/checkpoint/names.h"
#include "sim/check/optimizer_memory.h"
#include "sim/check/state_memory.h"
#include "tools/rehearse/report.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using Align = TextTable::Align;

// Longer tables keep the first row, the last, and this many in between.
constexpr std::size_t kAllStepsShown = 40;
constexpr std::size_t kStepsBetween = 20;
constexpr std::size_t kAllRanksShown = 16;

// The indices of the rows to show of `count`, equally spaced where those are not all.
std::vector<std::size_t> spaced_rows(std::size_t count) {
  std::vector<std::size_t> rows;
  if (count <= kAllStepsShown) {
    for (std::size_t i = 0; i < count; ++i) rows.push_back(i);
    return rows;
  }
  for (std::size_t i = 0; i <= kStepsBetween + 1; ++i) rows.push_back(i * (count - 1) / (kStepsBetween + 1));
  return rows;
}

// Those, and the steps with a held-out loss where that makes the table no more than twice as long.
std::vector<std::size_t> shown_rows(const std::vector<StepRecord>& steps, const std::map<std::int64_t, double>& evals) {
  std::vector<std::size_t> rows = spaced_rows(steps.size());
  if (rows.size() == steps.size() || evals.size() > kStepsBetween) return rows;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (evals.contains(steps[i].report.step)) rows.push_back(i);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

constexpr std::pair<const char*, Bytes RankMemory::*> kMemoryColumns[] = {
    {"parameters", &RankMemory::parameters},
    {"gradients", &RankMemory::gradients},
    {"optimizer", &RankMemory::optimizer},
    {"activations", &RankMemory::activations_peak},
    {"communication", &RankMemory::communication_buffers},
};

std::vector<std::string> memory_row(const std::string& name, const RankMemory& memory) {
  std::vector<std::string> cells = {name};
  Bytes total;
  for (const auto& [column, bytes] : kMemoryColumns) {
    cells.push_back(grouped((memory.*bytes).count()));
    total += memory.*bytes;
  }
  cells.push_back(grouped(total.count()));
  return cells;
}

std::vector<StateBytes> state_bytes_of(const TrainingRecord& record) {
  std::vector<StateBytes> all;
  for (const RankMemory& one : record.memory) {
    all.push_back({one.parameters_kept, one.gradients_kept, one.parameters, one.gradients});
  }
  return all;
}

// "12 P / N" with its numbers, and whether every rank holds just that. Where hosts were lost for good, N is the number
// of ranks with which a rank held most.
std::string optimizer_formula(const FinishedRun& run, const Style& style) {
  const TrainConfig& train = run.scenario->train;
  int ranks = run.scenario->ranks;
  Bytes expected = expected_optimizer_bytes(train, ranks);
  for (const RecoveryRecord& recovery : run.record.recoveries) {
    if (recovery.gone.empty() || expected_optimizer_bytes(train, recovery.ranks) <= expected) continue;
    ranks = recovery.ranks;
    expected = expected_optimizer_bytes(train, ranks);
  }
  const bool sharded = train.zero_stage > 0;
  const std::int64_t factor = 3 * size_of(train.state_types().optimizer);
  const std::int64_t padded = expected.count() / factor * (sharded ? ranks : 1);
  bool holds = true;
  for (const RankMemory& rank : run.record.memory) holds = holds && rank.optimizer == expected;
  std::string text = "  optimizer = " + std::to_string(factor) + " P" + (sharded ? " / N" : "") + " = " +
                     std::to_string(factor) + " x " + grouped(padded);
  if (sharded) text += " / " + std::to_string(ranks);
  text += " = " + grouped(expected.count()) + " bytes: ";
  return text + (holds ? style.good("holds on every rank") : style.bad("DOES NOT HOLD")) + "\n";
}

// What is kept of parameters and gradients where they are sharded, and what is whole beside it for a while.
std::string state_formula(const FinishedRun& run, const Style& style) {
  const TrainConfig& train = run.scenario->train;
  if (train.zero_stage < 2 || !run.record.state_checked) return "";
  const StateBytes bytes = expected_state_bytes(train, static_cast<int>(run.record.memory.size()));
  const auto line = [](const char* name, const char* formula, Bytes kept, Bytes most) {
    return std::string("  ") + name + " kept = " + formula + " = " + grouped(kept.count()) + " bytes; at most " +
           grouped((most - kept).count()) + " more while units are whole\n";
  };
  const std::string s = std::to_string(size_of(train.state_types().gradients));
  const std::string own = s + " P / N" + (train.guards.recompute_every > 0 ? " + " + s + " P" : "");
  std::string text = line("gradients", own.c_str(), bytes.gradients, bytes.most_gradients);
  if (train.zero_stage == 3) {
    text += line("parameters", (std::to_string(size_of(train.state_types().parameters)) + " P / N").c_str(),
                 bytes.parameters, bytes.most_parameters);
  }
  const bool holds = !check_state_memory(train, state_bytes_of(run.record)).has_value();
  text += "  on every rank: " + (holds ? style.good("holds") : style.bad("DOES NOT HOLD")) + "\n";
  return text;
}

// "rank 2, step 13, backward: ", as far as there is such a place.
std::string words_of(const FaultAddress& at) {
  std::string where = at.rank < 0 ? "" : "rank " + std::to_string(at.rank);
  if (at.step > 0) {
    where += std::string(where.empty() ? "" : ", ") + (at.phase == Phase::kLoad ? "load " : "step ") +
             std::to_string(at.step) + ", " + name_of(at.phase);
  }
  return where.empty() ? where : where + ": ";
}

std::string words_of(const GuardReport& guard) {
  if (guard.goes_back) return "the job goes back";
  if (!guard.evicted.empty())
    return guard.evicted.size() == 1 ? "its machine is replaced" : "their machines are replaced";
  return guard.reaction == name_of(Reaction::kSkipStep) ? "all ranks skip the step" : "the job stops";
}

// "rank 1", "ranks 1 and 3".
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

// Who starts again, and on what.
std::string start_words(const RecoveryRecord& recovery) {
  std::string text;
  if (!recovery.on_spares.empty()) {
    text += recovery.hosts_on_spares == 1 ? "a spare host takes over " : "spare hosts take over ";
    text += ranks_text(recovery.on_spares) + " (" + std::to_string(recovery.spares_left) + " left): ";
  }
  if (recovery.gone.empty()) return text + "all ranks start again";
  const std::string of = recovery.hosts_gone == 1 ? "the host of " : "the hosts of ";
  text += of + ranks_text(recovery.gone) + (recovery.hosts_gone == 1 ? " is" : " are") +
          " gone for good; those that are left start again as ";
  if (recovery.ranks == 1) return text + "rank 0 of 1";
  return text + "ranks 0 to " + std::to_string(recovery.ranks - 1) + ", numbered anew";
}

// Which tier the shards came from: "3 shards from the hosts' own disks, 1 from another host's".
std::string tier_words(const TierReads& reads) {
  std::string text;
  const auto add = [&text](std::int64_t shards, Bytes bytes, const std::string& where) {
    if (shards == 0) return;
    const char* noun = !text.empty() ? "" : shards == 1 ? " shard" : " shards";
    text += (text.empty() ? "" : ", ") + grouped(shards) + noun + " from " + where + " (" + grouped(bytes.count()) +
            " bytes)";
  };
  add(reads.shards_from_own_disk, reads.own_disk, "the ranks' own local disks");
  add(reads.shards_from_other_disks, reads.other_disks, "the local disks of others");
  add(reads.shards_from_remote, reads.remote, "the shared storage");
  return text;
}

// What the supervisor and the ranks do about one failure.
void add_recovery(const RecoveryRecord& recovery, std::multimap<TimePoint, std::string>& lines) {
  const auto after = [&](TimePoint time) { return to_string(time - recovery.failed) + " after the failure"; };
  const bool restart = recovery.kind == RecoveryRecord::Kind::kRestart;
  if (restart) {
    lines.emplace(recovery.detected, "the supervisor hears that " + recovery.cause + ", " + after(recovery.detected));
    if (!recovery.suspected.empty()) {
      lines.emplace(recovery.detected,
                    ranks_text(recovery.suspected) +
                        (recovery.suspected.size() == 1 ? " lives all the same" : " live all the same"));
    }
    if (!recovery.late.empty()) {
      lines.emplace(recovery.restarted, "the supervisor has waited in vain for the " +
                                            std::string(recovery.late.size() == 1 ? "host" : "hosts") + " of " +
                                            ranks_text(recovery.late));
    }
    lines.emplace(recovery.restarted, start_words(recovery) + ", in generation " + std::to_string(recovery.generation));
  }
  for (const std::string& rejected : recovery.rejected) {
    lines.emplace(recovery.restarted, "a checkpoint is refused: " + rejected);
  }
  for (const std::string& refused : recovery.refused_copies) {
    lines.emplace(recovery.restarted, "a copy on a local disk is refused: " + refused);
  }
  if (recovery.resumed <= recovery.failed) return;
  const std::int64_t lost = recovery.last_step - recovery.resumed_step;
  std::string text = "training goes on ";
  if (recovery.from_checkpoint) {
    text += "from the checkpoint of step " + std::to_string(recovery.resumed_step) + ", " +
            grouped(recovery.read.count()) + " bytes read";
    if (recovery.has_tiers) text += ": " + tier_words(recovery.reads);
  } else {
    text += std::string("from the start: there is no ") + (restart ? "" : "trusted ") + "checkpoint" +
            (recovery.rejected.empty() ? "" : " that all ranks can load");
  }
  text += "; " + std::to_string(lost) + (lost == 1 ? " step is" : " steps are") + " done again";
  if (recovery.skipped_batches > 0) {
    text += ", " + std::to_string(recovery.skipped_batches) + (recovery.skipped_batches == 1 ? " batch" : " batches") +
            " left out";
  }
  lines.emplace(recovery.resumed, text + ", " + after(recovery.resumed));
}

std::string of_all(const std::vector<std::size_t>& rows, const TrainingRecord& record) {
  if (rows.size() == record.steps.size()) return "";
  return " (" + std::to_string(rows.size()) + " of " + grouped(static_cast<std::int64_t>(record.steps.size())) +
         " steps; --out and --format json have all)";
}

}  // namespace

std::string step_table(const TrainingRecord& record, const Style& style) {
  if (record.steps.empty()) return "";
  TextTable table({{"step"}, {"step time"}, {"simulated"}});
  const std::vector<std::size_t> rows = shown_rows(record.steps, {});
  for (const std::size_t row : rows) {
    const StepRecord& step = record.steps[row];
    table.add(
        {std::to_string(step.report.step), to_string(step.step_seconds), to_string(step.report.ended.since_start())});
  }
  return section_title("Steps" + of_all(rows, record), style) + table.text(style);
}

std::string loss_table(const TrainingRecord& record, const Style& style) {
  if (record.steps.empty()) return "";
  std::map<std::int64_t, double> evals;
  for (const EvalRecord& eval : record.evals) evals[eval.step] = eval.loss;
  std::vector<TextTable::Column> columns = {{"step"}, {"loss"}, {"grad norm"}, {"lr"}, {"step time"}, {"simulated"}};
  if (!evals.empty()) columns.insert(columns.begin() + 2, {"held-out loss"});
  TextTable table(std::move(columns));
  const auto eval_cell = [&](std::int64_t step) {
    const auto found = evals.find(step);
    return found == evals.end() ? std::string() : decimals(found->second, 6);
  };
  if (evals.contains(record.first_step - 1)) {
    table.add({std::to_string(record.first_step - 1), "", eval_cell(record.first_step - 1), "", "", "", ""});
  }
  const std::vector<std::size_t> rows = shown_rows(record.steps, evals);
  for (std::size_t row : rows) {
    const StepRecord& step = record.steps[row];
    std::vector<std::string> cells = {
        std::to_string(step.report.step), decimals(step.report.loss, 6), significant(step.report.grad_norm, 6),
        significant(step.report.lr, 6),   to_string(step.step_seconds),  to_string(step.report.ended.since_start())};
    if (!evals.empty()) cells.insert(cells.begin() + 2, eval_cell(step.report.step));
    table.add(std::move(cells));
  }
  const std::string heading = "Loss: mean over ranks, before the step's update" + of_all(rows, record);
  return section_title(heading, style) + table.text(style);
}

std::string memory_table(const FinishedRun& run, const Style& style) {
  const std::vector<RankMemory>& memory = run.record.memory;
  if (memory.empty()) return "";
  std::vector<TextTable::Column> columns = {{"rank", Align::kLeft}};
  for (const auto& [name, bytes] : kMemoryColumns) columns.push_back({name});
  columns.push_back({"total"});
  TextTable table(std::move(columns));
  if (memory.size() <= kAllRanksShown) {
    for (std::size_t rank = 0; rank < memory.size(); ++rank) table.add(memory_row(std::to_string(rank), memory[rank]));
  }
  RankMemory max;
  RankMemory sum;
  for (const RankMemory& rank : memory) {
    for (const auto& [name, bytes] : kMemoryColumns) {
      max.*bytes = std::max(max.*bytes, rank.*bytes);
      sum.*bytes += rank.*bytes;
    }
  }
  RankMemory mean = sum;
  for (const auto& [name, bytes] : kMemoryColumns) {
    mean.*bytes = Bytes((sum.*bytes).count() / static_cast<std::int64_t>(memory.size()));
  }
  table.add(memory_row("max", max));
  table.add(memory_row("mean", mean));
  std::string heading = "Memory of a rank in bytes; activations and communication at their peaks";
  if (run.scenario->train.zero_stage >= 2) heading = "Memory of a rank in bytes, each kind at its peak";
  if (memory.size() > kAllRanksShown) heading += " (" + std::to_string(memory.size()) + " ranks)";
  return section_title(heading, style) + table.text(style) + optimizer_formula(run, style) + state_formula(run, style);
}

std::string communication_table(const TrainingRecord& record, const Style& style) {
  if (record.communication.empty()) return "";
  TextTable table({{"operation", Align::kLeft}, {"calls a rank"}, {"messages"}, {"bytes"}, {"simulated time"}});
  for (const CommunicationRow& row : record.communication) {
    table.add({name_of(row.operation), grouped(row.calls), grouped(row.messages), grouped(row.bytes.count()),
               to_string(row.time)});
  }
  std::string exposed;
  if (!record.steps.empty()) {
    exposed = "  exposed " + decimals(100 * exposed_of(record), 2) +
              " %: of the steps' time, that in which even the rank that computes longest does not\n";
  }
  return section_title("Communication: messages and bytes of all ranks, time of the rank that spent most", style) +
         table.text(style) + exposed;
}

std::string transport_lines(const TrainingRecord& record, const Style& style) {
  if (!record.transport.has_value()) return "";
  const TransportCounters& counters = *record.transport;
  TextTable table({{"messages"}, {"sent again"}, {"bytes again"}, {"acks"}, {"acks lost"}, {"broken connections"}});
  table.add({grouped(counters.messages), grouped(counters.retransmitted), grouped(counters.bytes_retransmitted.count()),
             grouped(counters.acks), grouped(counters.acks_lost), grouped(counters.broken)});
  std::string out = section_title("Reliable transport: packets of all links", style) + table.text(style);
  std::string line;
  const auto add = [&line](std::int64_t count, const std::string& what) {
    if (count > 0) line += (line.empty() ? "" : ", ") + grouped(count) + " " + what;
  };
  add(counters.lost, "lost");
  add(counters.copied, "copied by the network");
  add(counters.again, "dropped as duplicates");
  add(counters.held, "held for earlier ones");
  add(counters.bits_inverted, "with an inverted bit");
  add(counters.corrupt, "dropped for their checksum");
  add(counters.refused, "refused");
  out += wrapped(line.empty() ? "nothing was lost, copied, overtaken or corrupted" : line, "  ", kReportColumns);
  if (counters.corrupt_taken > 0) {
    out += "  " + style.bad("NOT FOUND") + ": " + grouped(counters.corrupt_taken) +
           " with an inverted bit went into the arithmetic, as checksums are off\n";
  }
  return out;
}

std::string checkpoint_table(const TrainingRecord& record, const Style& style) {
  std::string out;
  if (!record.checkpoints.empty()) {
    TextTable table(
        {{"checkpoint", Align::kLeft}, {"step"}, {"shards"}, {"files"}, {"bytes"}, {"manifest sha256", Align::kLeft}});
    for (const CheckpointRecord& checkpoint : record.checkpoints) {
      const auto shards = std::count_if(checkpoint.files.begin(), checkpoint.files.end(),
                                        [](const auto& file) { return file.first.starts_with("shard_"); });
      table.add({checkpoint.directory, std::to_string(checkpoint.step), std::to_string(shards),
                 std::to_string(checkpoint.files.size()), grouped(total_bytes(checkpoint).count()),
                 manifest_sha256(checkpoint).substr(0, 16) + "..."});
    }
    out += section_title("Checkpoints", style) + table.text(style);
  }
  for (const CheckpointFailure& one : record.checkpoint_failures) {
    const std::string failure = text_of(one);
    out += "  " + style.bad("NOT SAVED") + " " + failure + "\n";
  }
  return out;
}

std::string fault_lines(const TrainingRecord& record, const Style& style) {
  if (record.faults.empty() && record.recoveries.empty() && record.guards.empty() && record.faults_not_struck.empty()) {
    return "";
  }
  std::multimap<TimePoint, std::string> lines;
  for (const FaultRecord& fault : record.faults) {
    lines.emplace(fault.time, words_of(fault.at) + fault.what);
  }
  for (const GuardRecord& guard : record.guards) {
    lines.emplace(guard.time, "step " + std::to_string(guard.report.step) + ": " + guard.report.reason + ": " +
                                  words_of(guard.report));
  }
  for (const RecoveryRecord& recovery : record.recoveries) add_recovery(recovery, lines);
  for (const FencedRecord& one : record.fenced) {
    lines.emplace(one.time, "rank " + std::to_string(one.rank) + " of generation " + std::to_string(one.generation) +
                                " " + one.what);
  }
  std::string out = section_title("Faults and recoveries", style);
  for (const auto& [time, line] : lines) {
    const std::string when = to_string(time.since_start());
    out += wrapped(line, std::string(14, ' '), kReportColumns).replace(2, when.size(), when);
  }
  for (const std::string& fault : record.faults_not_struck) {
    out += wrapped("never struck: " + fault, "  ", kReportColumns);
  }
  if (!record.recoveries.empty()) {
    out += "  goodput " + decimals(100 * goodput_of(record), 2) + " %: the time of the steps that stand, of all\n";
  }
  return out;
}

std::string deadlock_table(const TrainingRecord& record, const Style& style) {
  if (record.waiting.empty()) return "";
  TextTable table({{"rank"},
                   {"activity", Align::kLeft},
                   {"waits in", Align::kLeft},
                   {"operation", Align::kLeft},
                   {"peer"},
                   {"tag (group.generation.sequence)", Align::kLeft},
                   {"since"}});
  for (const WaitingRow& row : record.waiting) {
    const WaitInfo& wait = row.wait;
    const std::string tag =
        std::to_string(wait.group_id) + "." + std::to_string(wait.generation) + "." + std::to_string(wait.sequence);
    table.add({std::to_string(row.rank), row.activity, name_of(wait.kind), wait.in_call ? name_of(wait.operation) : "",
               wait.in_call && wait.peer >= 0 ? std::to_string(wait.peer) : "", wait.in_call ? tag : "",
               to_string(row.since.since_start())});
  }
  return section_title("Deadlock: who waits for what", style) + table.text(style);
}

std::string verdict_lines(const FinishedRun& run, const Style& style) {
  std::string out;
  for (const Verdict& verdict : run.verdicts) {
    const std::string mark = verdict.held ? style.good("held  ") : style.bad("FAILED");
    out += "  " + mark + "  " + verdict.name + (verdict.detail.empty() ? "" : ": " + verdict.detail) + "\n";
  }
  if (run.record.accumulation_difference) {
    out += "          largest gradient difference, accumulated from whole batch: " +
           significant(*run.record.accumulation_difference, 6) + "\n";
  }
  return out.empty() ? "" : section_title("Invariants and expectations", style) + out;
}

}  // namespace rehearse
