#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/fuzz/run_plan.h"
#include "sim/fuzz/shrink.h"

// The parts of `rehearse fuzz`.

namespace rehearse {

// One seed's line in the results.
struct SeedResult {
  std::uint64_t seed = 0;
  PlanResult result;
};

// A line of JSON without its end, and back. Throws InputError that begins with `source` where it is not such a line.
std::string line_of(const SeedResult& result);
SeedResult seed_result_of(const std::string& line, const std::string& source);

// Runs a plan in a process of its own: one that dies or hangs is a finding ("crash"), not the end of the campaign.
PlanResult run_plan_isolated(const std::string& text, const std::string& source_name);

// Results by seed in a file: a first line that says what it is, then a line for each seed.
class ResultsFile {
 public:
  // Reads a file that is there, and goes on after its last whole line. Throws InputError where it is no such file, or
  // of another version of rehearse.
  explicit ResultsFile(std::string path);
  const std::vector<SeedResult>& earlier() const { return earlier_; }
  // Handed to the operating system when it returns.
  void append(const std::string& lines);

 private:
  std::string path_;
  std::vector<SeedResult> earlier_;
};

// What a campaign came to.
struct FuzzTotals {
  std::int64_t seeds = 0;
  std::int64_t struck = 0;     // in which a fault struck
  std::int64_t recovered = 0;  // that went back, restarted or skipped at least once
  std::map<std::string, std::int64_t> outcomes;
  std::map<std::string, std::int64_t> references;
  std::map<std::string, std::int64_t> found;  // by invariant
  std::vector<SeedResult> failing;
  ReachedTable reached;
  void add(const SeedResult& result);
};

// A failing plan made as small as it gets, as the text of a scenario with a comment in words.
std::string shrunk_scenario(const Plan& plan, const Finding& finding, const std::string& origin,
                            const std::string& replay);

}  // namespace rehearse
