#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/rehearse/command_line.h"
#include "tools/rehearse/console.h"

namespace rehearse {

// One value of a swept field, averaged over seeds.
struct SweepRow {
  std::string value;
  std::optional<double> cadence;  // seconds of training between two saves
  std::optional<double> young;
  std::optional<double> daly;
  std::optional<double> expected_waste;
  double goodput = 0;
  double goodput_error = 0;  // standard error of the mean over seeds; 0 for one seed
  double recoveries = 0;
  double lost_steps = 0;
  std::uint64_t runs = 0;
  std::uint64_t failed = 0;  // of them, that did not come to their end: their goodput says nothing
};

// Runs the command's job once for every value of its --sweep and every one of its --seeds. All values are looked at
// before the first run. Fewer rows than values where it was interrupted.
std::vector<SweepRow> sweep_job(const RunCommand& command, const std::function<bool()>& interrupted);
// The row with the most goodput of those without a failed run.
std::optional<std::size_t> best_row(const std::vector<SweepRow>& rows);

std::string sweep_report(const RunCommand& command, const std::vector<SweepRow>& rows, const Style& style);
std::string sweep_json(const RunCommand& command, const std::vector<SweepRow>& rows);

}  // namespace rehearse
