#include "tests/tidy/coroutine_statements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rehearse::tidy {
namespace {

using ::testing::HasSubstr;

// The findings of a coroutine with this body, which stands in lines 2 and after.
std::vector<Finding> check_body(const std::string& body) {
  return check_coroutine_statements("f.cc", "Task<void> f(Comm& comm, const int* x) {\n" + body + "\n}\n");
}

void expect_good(const std::string& body) {
  const std::vector<Finding> findings = check_body(body);
  EXPECT_TRUE(findings.empty()) << body << "\n" << to_string(findings);
}

void expect_bad(const std::string& body, const std::string& what, int line = 2) {
  const std::vector<Finding> findings = check_body(body);
  ASSERT_EQ(findings.size(), 1u) << body << "\n" << to_string(findings);
  EXPECT_THAT(findings[0].message, HasSubstr(what));
  EXPECT_EQ(findings[0].line, line);
}

TEST(CoroutineStatements, PlainAwaitsAreFine) {
  expect_good("co_await comm.send(1, payload);");
  expect_good("const int n = co_await comm.recv(x[2], tag(3));");
  expect_good("co_return co_await comm.recv();");
  expect_good("auto [a, b] = co_await comm.both();");
  expect_good("const auto& [a, b] = co_await comm.both();");
  expect_good("auto&& [a, b] = co_await comm.both();");
  expect_good("co_await comm.all(std::vector<int>(3));");
  expect_good("[[maybe_unused]] const int n = co_await comm.recv();");
  expect_good("int table[4][3] = {}; delete[] x; co_await comm.send(table[1][2]);");
}

TEST(CoroutineStatements, BlocksAreNotBraces) {
  expect_good("if (co_await comm.ready()) { a(); } else { b(); }");
  expect_good("if (x) { co_await a(); } else if (y) { co_await b(); } else co_await c();");
  expect_good("for (int i = 0; i < 3; ++i) { co_await comm.send(i); }");
  expect_good("for (const auto& p : {1, 2}) co_await comm.send(p);");
  expect_good("while (co_await comm.more()) {}");
  expect_good("do { co_await comm.more(); } while (co_await comm.ready());");
  expect_good("try { co_await comm.send(1); } catch (const CommError& e) { report(e); }");
  expect_good(
      "switch (co_await comm.kind()) { case Kind::kA: { co_await a(); } case 2: co_await b(); default: break; }");
  expect_good("{ co_await comm.send(1); }");
}

TEST(CoroutineStatements, NeighbouringStatementsDoNotCount) {
  expect_good("const Message m{1, 2}; co_await comm.send(m);");
  expect_good("co_await comm.send(m); const int y = x ? 1 : 2;");
  expect_good("if (x ? a : b) co_await comm.send(m);");
  expect_good("const auto work = [&] { return 1; };\nco_await device.run(cost, work);");
  expect_good("auto s = Spec{.ranks = 4, .pick = c ? 1 : 2};\nco_await run(s);");
}

TEST(CoroutineStatements, CommentsAndStringsDoNotCount) {
  expect_good("co_await comm.send(\"{ ? }\");  // {a ? b : c}");
  expect_good("co_await /* [&] {} */ comm.send('{', u8'?', R\"x(\"{?})x\");");
  expect_good("const int n = 1'000'000; co_await comm.send(n);  // it's { fine");
  expect_good("// co_await f({1});");
}

TEST(CoroutineStatements, BracesAreFound) {
  expect_bad("co_await comm.send({1, 2});", "braces");
  expect_bad("co_await comm.send(Message{});", "braces");
  expect_bad("const Message m{co_await comm.recv()};", "braces");
  expect_bad("Reply r = co_await comm.call(std::vector<int>{1, 2});", "braces");
  expect_bad("a();\n\nco_await\n    comm.send(Message{1});", "braces", 4);
  expect_bad("if (co_await comm.ready(Key{1})) { a(); }", "braces");
  expect_bad("if (x) co_await comm.send({1});", "braces");
  expect_bad("else_if(); if (x) { a(); } else co_await comm.send({1});", "braces");
  expect_bad("for (auto p : co_await comm.list(Key{})) { a(p); }", "braces");
  expect_bad("case_of(); { { co_return co_await comm.send({1}); } }", "braces");
}

TEST(CoroutineStatements, ConditionalsAreFound) {
  expect_bad("co_await comm.send(x ? 1 : 2);", "conditional");
  expect_bad("const int n = x ? co_await a() : co_await b();", "conditional");
  expect_bad("while (x ? co_await a() : false) { b(); }", "conditional");
  expect_bad("switch (k) { case 1: co_await comm.send(x ? 1 : 2); }", "conditional");
}

TEST(CoroutineStatements, CapturesAreFound) {
  expect_bad("co_await device.run(cost, [&] { step(); });", "captures");
  expect_bad("co_await device.run(cost, [x](int i) mutable -> int { return x + i; });", "captures");
  expect_bad("co_await [this]() -> Task<void> { co_await a(); }();", "captures");
  expect_bad("co_return co_await run([=] { return x ? Foo{1} : Foo{2}; });", "captures");
  expect_good("co_await device.run(cost, [] { step(); });");
}

TEST(CoroutineStatements, BodyOfALambdaIsStatementsOfItsOwn) {
  expect_good("auto child = [&](int i) -> Task<void> { co_await comm.send(i); };");
  expect_good("spawn(\"child\", [&]() -> Task<void> { const Message m{1}; co_await comm.send(m); }());");
  expect_bad("spawn(\"child\", [&]() -> Task<void> {\n co_await comm.send({1});\n}());", "braces", 3);
  expect_bad("auto child = [&](int i) -> Task<void> {\n if (i) { co_await comm.send(i ? 1 : 2); } };", "conditional",
             3);
  expect_bad("ASSERT_OK({ a();\n co_await comm.send({1}); });", "braces", 3);
}

TEST(CoroutineStatements, DeclarationsAroundThemAreUnderstood) {
  const std::string text = R"(#include <vector>
#define WAIT(x) do { co_await x({1}); } while (false)
namespace a::b {
enum class Kind { kOne, kTwo };
struct Node final : Base<int> {
  Node() : a_(1), b_{2} {}
  Task<void> run() const { co_await a_.wait(); }
  auto go() -> Task<std::vector<int>> { if (b_) { co_await a_.wait({3}); } }
  template <class T>
    requires Sized<T>
  Task<T> typed() noexcept { co_return co_await a_.get(T{}); }
  std::vector<int> a_ = {1, 2};
  int b_{};
};
Task<void> Node::all(std::vector<int> v = {1}) { co_await a_.wait(); }
}  // namespace a::b
)";
  const std::vector<Finding> findings = check_coroutine_statements("n.cc", text);
  ASSERT_EQ(findings.size(), 2u) << to_string(findings);
  EXPECT_EQ(findings[0].line, 8);
  EXPECT_EQ(findings[1].line, 11);
}

}  // namespace
}  // namespace rehearse::tidy
