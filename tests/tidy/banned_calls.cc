#include "tests/tidy/banned_calls.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace rehearse::tidy {
namespace {

using Names = std::set<std::string_view>;

const Names kRandomCalls = {"rand", "srand", "rand_r", "srandom", "drand48", "lrand48", "mrand48", "arc4random"};
const Names kRandomTypes = {"random_device", "mt19937", "mt19937_64", "default_random_engine", "minstd_rand",
                            "minstd_rand0",  "knuth_b", "shuffle",    "random_shuffle"};
const Names kClockCalls = {"gettimeofday", "clock_gettime", "localtime", "gmtime", "mktime"};
const Names kClockNames = {"system_clock", "steady_clock", "high_resolution_clock", "utc_clock", "CLOCKS_PER_SEC"};
const Names kEnvironmentCalls = {"getenv", "secure_getenv", "setenv", "putenv", "setlocale"};
const Names kThreadTypes = {"async", "thread", "jthread", "this_thread"};
const Names kOpenOrder = {"reduce", "transform_reduce", "execution"};
const Names kHashOrder = {"unordered_map", "unordered_set", "unordered_multimap", "unordered_multiset"};
// Double functions whose bits follow the CPU's features; sqrt, fma, floor and their like are exact and stay.
const Names kLibm = {"exp",  "exp2",  "expm1", "log",   "log2", "log10", "log1p",  "pow",
                     "sin",  "cos",   "tan",   "sinh",  "cosh", "tanh",  "asin",   "acos",
                     "atan", "atan2", "cbrt",  "hypot", "erf",  "erfc",  "lgamma", "tgamma"};
const Names kPrintCalls = {"printf", "fprintf", "vprintf", "vfprintf", "puts", "fputs", "putchar"};
const Names kPrintStreams = {"cout", "cerr", "clog"};
// Eigen's vectorised forms peel to the buffer's address, or pick their variant by it.
const Names kEigenReductions = {"sum", "mean", "norm", "squaredNorm", "prod"};
const Names kEigenFunctions = {"exp", "log", "rsqrt", "sum", "mean", "prod"};

// Words that may stand before a call; any other name before `name(` makes it a declaration.
const Names kBeforeCall = {"return", "co_return", "co_yield", "co_await", "else", "do",
                           "throw",  "case",      "and",      "or",       "not",  "in"};

class Checker {
 public:
  explicit Checker(const SourceFile& file)
      : file_(file),
        code_(blank_comments_and_strings(file.text)),
        tokens_(tokenize(code_)),
        lines_(split_lines(file.text)) {}

  std::vector<Finding> run() {
    const bool core = file_.is_under("core");
    const bool simulated = core || file_.is_under("sim");
    const bool may_read_clock =
        file_.is_under("core/transport") || file_.is_under("tests/bench") || file_.is_under("tools");
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      if (!is_identifier(name())) continue;
      if (!may_read_clock) check_clocks();
      if (simulated) check_simulated();
      if (core) check_core();
    }
    return std::move(findings_);
  }

 private:
  std::string_view token(std::size_t i) const { return i < tokens_.size() ? tokens_[i].text : std::string_view(); }
  std::string_view name() const { return token(at_); }
  std::string_view before(std::size_t distance = 1) const { return at_ >= distance ? token(at_ - distance) : ""; }
  std::string_view after(std::size_t distance = 1) const { return token(at_ + distance); }

  // Whether the tokens after this one are exactly these.
  bool followed_by(std::initializer_list<std::string_view> expected) const {
    std::size_t i = at_;
    return std::all_of(expected.begin(), expected.end(), [&](std::string_view e) { return token(++i) == e; });
  }

  bool is_std() const { return before() == "::" && before(2) == "std"; }
  bool is_member() const { return before() == "." || before() == "->"; }

  // A call of a free function, by its own name, from std or from the global namespace.
  bool is_free_call() const {
    if (after() != "(" || is_member()) return false;
    if (before() == "::") return before(2) == "std" || !is_identifier(before(2)) || kBeforeCall.contains(before(2));
    if (is_identifier(before())) return kBeforeCall.contains(before());
    // `T* name(` and `T<U> name(` declare, `a * name(` and `a > name(` call: the format leaves a blank before an
    // operator and none before a pointer's star.
    if (before() == "*" || before() == "&" || before() == ">") {
      const std::size_t offset = tokens_[at_ - 1].offset;
      return offset == 0 || code_[offset - 1] == ' ' || code_[offset - 1] == '(';
    }
    return true;
  }

  void add(const std::string& message) {
    findings_.push_back({file_.path, tokens_[at_].line, std::string(name()) + ": " + message});
  }

  void check_clocks() {
    static const std::string kMessage =
        "only core/transport, tests/bench and tools read a real clock; a simulation has virtual time";
    // clock() takes no argument and time() needs one: with that, methods called clock and time go free.
    const bool c_time = name() == "time" && is_free_call() &&
                        (is_std() || after(2) == "nullptr" || after(2) == "NULL" || after(2) == "&" ||
                         (after(2) == "0" && after(3) == ")"));
    const bool c_clock = name() == "clock" && is_free_call() && after(2) == ")";
    if (kClockNames.contains(name()) || c_time || c_clock || (kClockCalls.contains(name()) && is_free_call())) {
      add(kMessage);
    }
  }

  void check_simulated() {
    if (kRandomCalls.contains(name()) && is_free_call()) add("draw from a RandomStream (core/base/random.h)");
    if (is_std() && (kRandomTypes.contains(name()) || name().ends_with("_distribution"))) {
      add("differs between libraries; draw from a RandomStream (core/base/random.h)");
    }
    if (kEnvironmentCalls.contains(name()) && is_free_call()) add("a run never depends on the environment");
    if (is_std() && kThreadTypes.contains(name())) add("the loop is single-threaded");
    if (is_std() && kOpenOrder.contains(name())) add("leaves the order of summation open; write the loop");
    if (is_std() && kHashOrder.contains(name()) && line().find("// lookup only") == std::string_view::npos) {
      add("iterates in the order of hashes; use a sorted container, or say `// lookup only` on this line");
    }
    if (kLibm.contains(name()) && is_free_call() && after(2) != ")") {
      add("libm picks its variant by CPU; use core/base/math.h or the kernels of core/tensor");
    }
    if (name() == "detached" && before() == "::" && before(2) == "asio") {
      add("swallows exceptions; use a handler that rethrows");
    }
    if (name() == "FP_CONTRACT" && before() == "STDC") add("contraction is off for the whole build; leave it");
    if (name() == "optimize" && (before() == "GCC" || before() == "(")) add("one set of flags for the whole build");
  }

  void check_core() {
    const bool stream = kPrintStreams.contains(name()) && !is_member() && (is_std() || after() == "<");
    const bool print = kPrintCalls.contains(name()) && is_free_call();
    if ((stream || print) && file_.path != "core/base/check.cc") {
      add("core does not print; give the caller a value or an error");
    }
    const bool by_row = name() == "rowwise" || name() == "colwise";
    if ((by_row || name() == "array") && is_member() && followed_by({"(", ")", "."}) &&
        (by_row ? kEigenReductions : kEigenFunctions).contains(after(4))) {
      add("Eigen's " + std::string(after(4)) + " depends on the buffer's address; use the kernels of core/tensor");
    }
  }

  std::string_view line() const { return lines_[tokens_[at_].line - 1]; }

  const SourceFile& file_;
  std::string code_;
  std::vector<Token> tokens_;
  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_banned_calls(const SourceFile& file) { return Checker(file).run(); }

std::vector<Finding> check_banned_flags(const SourceFile& file) {
  std::vector<Finding> findings;
  int number = 0;
  for (std::string_view line : split_lines(file.text)) {
    ++number;
    const std::string_view code = file.has_extension(".json") ? line : line.substr(0, line.find('#'));
    for (const char* flag : {"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math",
                             "-ffp-contract=fast", "-ffp-contract=on", "-march=native", "-fopenmp"}) {
      if (code.find(flag) != std::string_view::npos) {
        findings.push_back({file.path, number, std::string(flag) + " changes the bits of the arithmetic"});
      }
    }
  }
  return findings;
}

}  // namespace rehearse::tidy
