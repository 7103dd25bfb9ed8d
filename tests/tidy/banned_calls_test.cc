#include "tests/tidy/banned_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rehearse::tidy {
namespace {

using ::testing::StartsWith;

void expect_bad(const std::string& path, const std::string& text, const std::string& name) {
  const std::vector<Finding> findings = check_banned_calls({path, "\n" + text + "\n"});
  ASSERT_EQ(findings.size(), 1u) << path << ": " << text << "\n" << to_string(findings);
  EXPECT_THAT(findings[0].message, StartsWith(name + ":"));
  EXPECT_EQ(findings[0].line, 2);
}

void expect_good(const std::string& path, const std::string& text) {
  const std::vector<Finding> findings = check_banned_calls({path, text + "\n"});
  EXPECT_TRUE(findings.empty()) << text << "\n" << to_string(findings);
}

TEST(BannedCalls, ForeignRandomNumbers) {
  expect_bad("core/a.cc", "int x = rand();", "rand");
  expect_bad("sim/net/a.cc", "std::srand(1);", "srand");
  expect_bad("core/a.h", "std::random_device device;", "random_device");
  expect_bad("core/a.h", "std::mt19937 engine;", "mt19937");
  expect_bad("core/a.h", "std::uniform_real_distribution<double> d(0, 1);", "uniform_real_distribution");
  expect_bad("core/a.h", "std::shuffle(a, b, stream);", "shuffle");
  expect_good("tests/core/a_test.cc", "int x = rand();");
  expect_good("core/a.cc", "operand(3); strand(x); stream.rand(); // rand()\nf(\"rand()\");");
}

TEST(BannedCalls, WallClocks) {
  expect_bad("core/a.cc", "auto t = std::chrono::steady_clock::now();", "steady_clock");
  expect_bad("tests/sim/a_test.cc", "using Clock = std::chrono::system_clock;", "system_clock");
  expect_bad("sim/a.cc", "high_resolution_clock::now();", "high_resolution_clock");
  expect_bad("core/a.cc", "seed = time(nullptr);", "time");
  expect_bad("core/a.cc", "seed = std::time(&now);", "time");
  expect_bad("core/a.cc", "seed = ::time(0);", "time");
  expect_bad("core/a.cc", "auto c = clock();", "clock");
  expect_bad("core/a.cc", "return clock() - begin;", "clock");
  expect_bad("core/a.cc", "gettimeofday(&tv, nullptr);", "gettimeofday");
  expect_good("core/transport/a.cc", "std::chrono::steady_clock::now();");
  expect_good("tests/bench/a.cc", "std::chrono::steady_clock::now();");
  expect_good("tools/a.cc", "std::chrono::steady_clock::now();");
  expect_good("core/runtime/a.h",
              "virtual Clock& clock() = 0; TimePoint time() const; Event(TimePoint t) : time(t) {}");
  expect_good("core/a.cc", "ctx.clock().now(); event.time(); ctx->clock();");
}

TEST(BannedCalls, EnvironmentAndThreads) {
  expect_bad("core/a.cc", "const char* home = std::getenv(\"HOME\");", "getenv");
  expect_bad("sim/a.cc", "if (!getenv(\"HOME\")) {}", "getenv");
  expect_bad("core/a.cc", "std::thread worker(f);", "thread");
  expect_bad("sim/a.cc", "auto f = std::async(g);", "async");
  expect_bad("sim/a.cc", "boost::asio::co_spawn(e, t(), boost::asio::detached);", "detached");
  expect_bad("sim/a.cc", "co_spawn(e, t(), asio::detached);", "detached");
  expect_good("tools/a.cc", "std::getenv(\"COLUMNS\"); std::thread t;");
}

TEST(BannedCalls, HashOrder) {
  expect_bad("core/a.h", "std::unordered_map<int, int> m;", "unordered_map");
  expect_bad("sim/a.h", "std::unordered_set<int> s;  // fast", "unordered_set");
  expect_good("sim/a.h", "#include <unordered_map>\nstd::unordered_map<int, int> m;  // lookup only: never iterated");
  expect_good("tests/a.cc", "std::unordered_map<int, int> m;");
}

TEST(BannedCalls, ElementaryFunctions) {
  expect_bad("core/a.cc", "y = std::exp(x);", "exp");
  expect_bad("core/a.cc", "y = exp(x);", "exp");
  expect_bad("core/a.cc", "y = a * exp(x);", "exp");
  expect_bad("core/a.cc", "return log(x) + 1;", "log");
  expect_bad("sim/a.cc", "y = f(::pow(x, 2));", "pow");
  expect_bad("core/a.cc", "y = -std::tanh(x);", "tanh");
  expect_good("core/a.cc", "y = kernels::exp(x); z = v.exp(1); double* exp(double x); V8 exp(V8 x); sqrt(x); expf(x);");
  expect_good("core/a.cc", "EventLog& log(int level); tracer.log(x); std::vector<int> log(int n); log();");
  expect_good("tests/a_test.cc", "y = std::exp(x);");
}

TEST(BannedCalls, OrderOfSummationAndBits) {
  expect_bad("core/a.cc", "s = std::reduce(a, b);", "reduce");
  expect_bad("core/a.cc", "s = m.rowwise().sum();", "rowwise");
  expect_bad("core/a.cc", "e = m.array().exp();", "array");
  expect_bad("core/a.cc", "#pragma STDC FP_CONTRACT OFF", "FP_CONTRACT");
  expect_bad("core/a.cc", "#pragma GCC optimize (\"fast-math\")", "optimize");
  expect_good("core/a.cc", "comm.reduce(a); queue.array().size(); s = std::accumulate(a, b, 0);");
}

TEST(BannedCalls, PrintingInCore) {
  expect_bad("core/a.cc", "std::printf(\"x\");", "printf");
  expect_bad("core/a.cc", "fprintf(stderr, \"x\");", "fprintf");
  expect_bad("core/a.cc", "std::cout << 1;", "cout");
  expect_bad("core/a.cc", "cerr << 1;", "cerr");
  expect_good("core/base/check.cc", "std::fprintf(stderr, \"x\");");
  expect_good("sim/a.cc", "std::printf(\"x\");");
  expect_good("core/a.cc", "std::snprintf(b, n, \"x\");");
}

TEST(BannedFlags, AreFoundOutsideComments) {
  const std::vector<Finding> found = check_banned_flags({"core/CMakeLists.txt", "# never -Ofast\nadd(-ffast-math)\n"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(to_string(found), "core/CMakeLists.txt:2: -ffast-math changes the bits of the arithmetic\n");
  EXPECT_EQ(check_banned_flags({"CMakePresets.json", "{\"a\": \"#\", \"b\": \"-march=native\"}\n"}).size(), 1u);
  EXPECT_TRUE(check_banned_flags({"CMakeLists.txt", "add(-march=x86-64-v3 -ffp-contract=off)\n"}).empty());
}

}  // namespace
}  // namespace rehearse::tidy
