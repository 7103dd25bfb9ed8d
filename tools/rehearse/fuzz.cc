#include "tools/rehearse/fuzz.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "sim/config/loader.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/fuzz_report.h"
#include "tools/rehearse/parallel_jobs.h"
#include "tools/rehearse/progress.h"
#include "tools/rehearse/real_files.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

using WallClock = std::chrono::steady_clock;

// Seeds between two looks at the clock, of which the results are written together, in their order: a number that does
// not depend on --jobs.
constexpr std::size_t kRound = 200;
// How many failing seeds of a campaign are made smaller.
constexpr std::size_t kMostShrunk = 5;

double seconds_since(WallClock::time_point began) {
  return std::chrono::duration<double>(WallClock::now() - began).count();
}

// "out/results.jsonl" -> "out/results-seed-7.textproto"
std::string scenario_path(const std::string& out, std::uint64_t seed) {
  std::filesystem::path path(out);
  path.replace_extension();
  return path.string() + "-seed-" + std::to_string(seed) + ".textproto";
}

std::string replay_of(const Console& console, const std::string& what) {
  return console.program + " fuzz --replay " + what;
}

class Campaign {
 public:
  Campaign(const FuzzCommand& command, Console& console)
      : command_(command), console_(console), progress_(console.err, console.progress) {
    if (!command_.out.empty()) file_.emplace(command_.out);
  }

  ExitCode run() {
    std::set<std::uint64_t> done;
    for (const SeedResult& one : earlier()) {
      if (one.seed < command_.first_seed || one.seed > command_.last_seed) continue;
      if (done.insert(one.seed).second) totals_.add(one);
    }
    std::vector<std::uint64_t> left;
    for (std::uint64_t seed = command_.first_seed; seed <= command_.last_seed; ++seed) {
      if (!done.contains(seed)) left.push_back(seed);
    }
    const bool whole = run_seeds(left);
    progress_.clear();
    if (interrupted_) return ExitCode::kInterrupted;
    console_.out << (command_.format == Format::kJson ? fuzz_json(totals_)
                                                      : fuzz_text(totals_, Style(console_.colors)));
    if (!whole) {
      (command_.format == Format::kText ? console_.out : console_.err)
          << "  the " << *command_.minutes << " minutes were over; the rest: the same command again\n";
    }
    shrink_failing();
    return totals_.failing.empty() ? ExitCode::kDone : ExitCode::kExpectationFailed;
  }

 private:
  std::vector<SeedResult> earlier() const { return file_ ? file_->earlier() : std::vector<SeedResult>(); }

  // False where the time was over before.
  bool run_seeds(const std::vector<std::uint64_t>& seeds) {
    const WallClock::time_point began = WallClock::now();
    for (std::size_t first = 0; first < seeds.size(); first += kRound) {
      if (command_.minutes && seconds_since(began) >= 60.0 * static_cast<double>(*command_.minutes)) return false;
      const std::size_t count = std::min(kRound, seeds.size() - first);
      const auto work = [&](std::size_t index) {
        SeedResult one;
        one.seed = seeds[first + index];
        one.result = run_plan_isolated(draw_plan(one.seed).text(), "seed " + std::to_string(one.seed));
        return line_of(one);
      };
      const std::vector<std::string> lines = run_in_processes(command_.jobs, count, work, console_.interrupted);
      std::string text;
      for (const std::string& line : lines) {
        text += line + "\n";
        totals_.add(seed_result_of(line, "a plan's process"));
      }
      if (file_) file_->append(text);
      if (lines.size() < count) {
        interrupted_ = true;
        return false;
      }
      const std::size_t finished = first + count;
      const double rate = static_cast<double>(finished) / std::max(seconds_since(began), 1e-9);
      progress_.on_phase("seed " + std::to_string(seeds[finished - 1]) + "  " + std::to_string(finished) + "/" +
                         std::to_string(seeds.size()) + "  " + significant(rate, 3) + " seeds/s  " +
                         std::to_string(totals_.failing.size()) + " failing");
    }
    return true;
  }

  void shrink_failing() {
    if (command_.out.empty()) return;
    for (std::size_t i = 0; i < std::min(totals_.failing.size(), kMostShrunk); ++i) {
      const SeedResult& one = totals_.failing[i];
      const std::string path = scenario_path(command_.out, one.seed);
      if (std::filesystem::exists(path)) continue;
      progress_.on_phase("making the plan of seed " + std::to_string(one.seed) + " smaller");
      write_file_atomically(path, shrunk_scenario(draw_plan(one.seed), one.result.findings.front(),
                                                  "seed " + std::to_string(one.seed), replay_of(console_, path)));
      progress_.clear();
      if (command_.format == Format::kText) console_.out << "  shrunk: " << path << "\n";
    }
  }

  const FuzzCommand& command_;
  Console& console_;
  Progress progress_;
  std::optional<ResultsFile> file_;
  FuzzTotals totals_;
  bool interrupted_ = false;
};

bool is_seed(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

ExitCode replay(const FuzzCommand& command, Console& console) {
  const Style style(console.colors);
  const bool text = command.format == Format::kText;
  const bool drawn = is_seed(command.replay);
  Plan plan;
  if (drawn) plan = draw_plan(std::stoull(command.replay));
  const std::string scenario = drawn ? plan.text() : read_real_file(command.replay, kScenarioFileLimit);
  if (text) console.out << scenario << std::flush;
  SeedResult one;
  if (drawn) one.seed = std::stoull(command.replay);
  one.result = run_plan_isolated(scenario, command.replay);
  console.out << (text ? plan_result_text(one.result, style) : line_of(one) + "\n");
  const bool failed = !one.result.findings.empty();
  if (!command.out.empty()) {
    write_file_atomically(command.out, failed && drawn
                                           ? shrunk_scenario(plan, one.result.findings.front(),
                                                             "seed " + command.replay, replay_of(console, command.out))
                                           : scenario);
    if (text) console.out << "  written: " << command.out << "\n";
  }
  return failed ? ExitCode::kExpectationFailed : ExitCode::kDone;
}

}  // namespace

ExitCode execute_fuzz(const FuzzCommand& command, Console& console) {
  if (!command.replay.empty()) return replay(command, console);
  return Campaign(command, console).run();
}

}  // namespace rehearse
