#pragma once

#include <sstream>
#include <string>

// CHECK: a broken assumption of ours. Always on, prints file, line and values, ends the process. What a user, a file, a
// disk or a network can cause is never a CHECK but an Error (error.h).

namespace rehearse {

[[noreturn]] void check_failed(const char* file, int line, const std::string& what);

template <class A, class B>
[[noreturn]] void check_op_failed(const char* file, int line, const char* text, const A& a, const B& b) {
  std::ostringstream out;
  out << text << " (" << a << " vs " << b << ")";
  check_failed(file, line, out.str());
}

}  // namespace rehearse

#define CHECK(condition)                                        \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::rehearse::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

#define REHEARSE_CHECK_OP(op, a, b)                                                         \
  do {                                                                                      \
    const auto& check_a = (a);                                                              \
    const auto& check_b = (b);                                                              \
    if (!(check_a op check_b)) [[unlikely]]                                                 \
      ::rehearse::check_op_failed(__FILE__, __LINE__, #a " " #op " " #b, check_a, check_b); \
  } while (false)

#define CHECK_EQ(a, b) REHEARSE_CHECK_OP(==, a, b)
#define CHECK_NE(a, b) REHEARSE_CHECK_OP(!=, a, b)
#define CHECK_LT(a, b) REHEARSE_CHECK_OP(<, a, b)
#define CHECK_LE(a, b) REHEARSE_CHECK_OP(<=, a, b)
#define CHECK_GT(a, b) REHEARSE_CHECK_OP(>, a, b)
#define CHECK_GE(a, b) REHEARSE_CHECK_OP(>=, a, b)
