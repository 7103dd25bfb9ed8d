#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace rehearse {

void check_failed(const char* file, int line, const std::string& what) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s\n", file, line, what.c_str());
  std::fflush(nullptr);
  std::abort();
}

}  // namespace rehearse
