#include "tools/rehearse/heap.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace rehearse {

void prepare_heap() {
  constexpr int kKeep = 256 << 20;
  mallopt(M_MMAP_THRESHOLD, kKeep);
  mallopt(M_TRIM_THRESHOLD, kKeep);

  // The heap grows by this much at its first use; what is never touched costs no memory.
  constexpr std::uintptr_t kFirst = 32 << 20;
  constexpr std::uintptr_t kHugePage = 2 << 20;
  mallopt(M_TOP_PAD, kFirst);
  const auto begin = reinterpret_cast<std::uintptr_t>(sbrk(0));
  void* volatile grown = std::malloc(kHugePage);  // volatile, or the compiler leaves the pair out
  std::free(grown);
  mallopt(M_TOP_PAD, 1 << 20);
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const std::uintptr_t last = end / kHugePage * kHugePage;
  // Advice: where it is not taken, pages are small.
  if (first < last) (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

}  // namespace rehearse
