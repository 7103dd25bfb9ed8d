#include "tools/export/nccl_tests.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/numbers.h"

namespace rehearse {
namespace {

// Columns of a row: size, count, type, redop, root, then time, algbw, busbw, #wrong, twice. Operations without a
// reduction or a root have those columns, too.
constexpr std::size_t kTime = 5;
constexpr std::size_t kColumns = 13;
// Bandwidths are printed with two digits after the point, times with two to four digits.
constexpr double kPrinted = 0.0051;

[[noreturn]] void refuse(const std::string& source, std::size_t line, const std::string& what) {
  throw InputError(source + ":" + std::to_string(line) + ": " + what);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool has_all(const std::vector<std::string>& words, std::initializer_list<const char*> wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); });
}

class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  NcclTable read(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      if (line.find_first_not_of(" \t") == line.find('#')) {
        read_comment(words_of(line));
      } else {
        read_row(words_of(line));
      }
    }
    if (!heading_)
      throw InputError(source_ + ": is no output of nccl-tests: it has no heading with size, time and busbw");
    if (table_.rows.empty()) throw InputError(source_ + ": the table has no rows");
    return std::move(table_);
  }

 private:
  void read_comment(const std::vector<std::string>& words) {
    if (has_all(words, {"size", "count", "type", "time", "algbw", "busbw"})) heading_ = true;
    if (words.size() > 2 && words[1] == "Rank" && has_all(words, {"device"})) ++table_.ranks;
    for (std::string word : words) {
      constexpr std::string_view kEnd = "_perf";
      if (!word.ends_with(kEnd)) continue;
      word = word.substr(word.rfind('/') + 1);
      const NcclCollective found = nccl_collective(word.substr(0, word.size() - kEnd.size()));
      if (found == NcclCollective::kUnknown) {
        refuse(source_, line_, "is of " + word + "; allowed: all_reduce_perf, all_gather_perf, reduce_scatter_perf");
      }
      table_.collective = found;
    }
  }

  double number(const std::vector<std::string>& words, std::size_t column, const char* name) const {
    double value = 0;
    const std::string& word = words[column];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value) || value < 0) {
      refuse(source_, line_, std::string(name) + ": found '" + word + "'; allowed: a number of 0 or more");
    }
    return value;
  }

  void read_row(const std::vector<std::string>& words) {
    if (!heading_) refuse(source_, line_, "is no output of nccl-tests: a row stands before any heading");
    if (words.size() < kColumns) {
      refuse(source_, line_,
             "a row has " + std::to_string(words.size()) + " columns; allowed: the " + std::to_string(kColumns) +
                 " of nccl-tests, size to #wrong");
    }
    const double size = number(words, 0, "size");
    if (size != std::floor(size) || size > 1e15)
      refuse(source_, line_, "size: found '" + words[0] + "'; allowed: bytes");
    NcclRow row;
    row.size = Bytes(static_cast<std::int64_t>(size));
    row.microseconds = number(words, kTime, "time");
    row.algbw = number(words, kTime + 1, "algbw");
    row.busbw = number(words, kTime + 2, "busbw");
    // Where results were not checked it is N/A.
    const std::string& wrong = words[kTime + 3];
    if (wrong != "0" && wrong != "N/A" && number(words, kTime + 3, "#wrong") != 0) {
      refuse(source_, line_, "#wrong is " + wrong + ": results were wrong, and so the times are worth nothing");
    }
    if (row.microseconds <= 0) refuse(source_, line_, "time: found '" + words[kTime] + "'; allowed: above 0");
    const double algbw = size / row.microseconds / 1e3;
    if (std::abs(algbw - row.algbw) > kPrinted + 0.01 * algbw) {
      refuse(source_, line_, "algbw is " + words[kTime + 1] + ", but size / time is " + shortest_text(float(algbw)));
    }
    if (row.size.count() > 0) table_.rows.push_back(row);
  }

  std::string source_;
  std::size_t line_ = 0;
  bool heading_ = false;
  NcclTable table_;
};

// Rounds to as many digits as the measurement is worth.
std::string rounded(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::general, 4).ptr;
  // Without an exponent, which a scenario's units do not take.
  double again = 0;
  std::from_chars(text, end, again);
  char plain[64];
  const auto plain_end = std::to_chars(plain, plain + sizeof plain, again, std::chars_format::fixed).ptr;
  return std::string(plain, plain_end);
}

}  // namespace

const char* name_of(NcclCollective collective) {
  switch (collective) {
    case NcclCollective::kAllReduce:
      return "all_reduce";
    case NcclCollective::kAllGather:
      return "all_gather";
    case NcclCollective::kReduceScatter:
      return "reduce_scatter";
    case NcclCollective::kUnknown:
      return "unknown";
  }
  check_failed(__FILE__, __LINE__, "unknown collective");
}

NcclCollective nccl_collective(const std::string& name) {
  for (const auto one : {NcclCollective::kAllReduce, NcclCollective::kAllGather, NcclCollective::kReduceScatter}) {
    if (name == name_of(one)) return one;
  }
  return NcclCollective::kUnknown;
}

NcclTable read_nccl_table(const std::string& text, const std::string& source) { return Reader(source).read(text); }

std::string NetworkFit::network_text() const {
  return "network { latency: \"" + rounded(latency_us) + "us\" bandwidth: \"" + rounded(bandwidth_gbps) + "Gbps\" }";
}

NetworkFit fit_network(const NcclTable& table, NcclCollective collective, int ranks, const std::string& source) {
  CHECK(collective != NcclCollective::kUnknown);
  CHECK_GE(ranks, 2);
  const double steps = (collective == NcclCollective::kAllReduce ? 2.0 : 1.0) * (ranks - 1);
  for (const NcclRow& row : table.rows) {
    // nccl-tests' PERFORMANCE.md: busbw = algbw * steps / N.
    const double busbw = row.algbw * steps / ranks;
    if (std::abs(busbw - row.busbw) > kPrinted * 3 + 0.01 * busbw) {
      throw InputError(source + ": is no " + name_of(collective) + " on " + std::to_string(ranks) + " ranks: for " +
                       std::to_string(row.size.count()) + " bytes its busbw is " +
                       shortest_text(static_cast<float>(row.busbw)) + ", and would be " +
                       shortest_text(static_cast<float>(busbw)));
    }
  }
  // Minimises the sum of ((a + b S - t) / t)^2 over the rows.
  double w = 0;
  double ws = 0;
  double wss = 0;
  double wt = 0;
  double wst = 0;
  for (const NcclRow& row : table.rows) {
    const auto size = static_cast<double>(row.size.count());
    const double time = row.microseconds;
    const double weight = 1 / (time * time);
    w += weight;
    ws += weight * size;
    wss += weight * size * size;
    wt += weight * time;
    wst += weight * size * time;
  }
  const double determinant = w * wss - ws * ws;
  if (!(determinant > 1e-12 * w * wss)) throw InputError(source + ": has one size alone; two are needed for a fit");
  const double a = (wt * wss - wst * ws) / determinant;
  const double b = (w * wst - ws * wt) / determinant;
  if (!(a > 0) || !(b > 0)) {
    throw InputError(source + ": does not fit latency and bandwidth: times would be " + shortest_text(float(a)) +
                     " us + " + shortest_text(float(b)) + " us a byte, and both must be above 0");
  }
  NetworkFit fit;
  fit.ranks = ranks;
  fit.collective = collective;
  fit.latency_us = a / steps;
  fit.bandwidth_gbps = steps / (ranks * b) * 8 / 1e3;
  for (const NcclRow& row : table.rows) {
    NetworkFit::Point point;
    point.size = row.size;
    point.measured_us = row.microseconds;
    point.fitted_us = a + b * static_cast<double>(row.size.count());
    fit.mean_error += std::abs(point.error()) / static_cast<double>(table.rows.size());
    fit.largest_error = std::max(fit.largest_error, std::abs(point.error()));
    fit.points.push_back(point);
  }
  return fit;
}

}  // namespace rehearse
