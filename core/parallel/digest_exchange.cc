#include "core/parallel/digest_exchange.h"

#include <cstring>

#include "core/base/buffer.h"
#include "core/comm/collectives.h"

namespace rehearse {
namespace {

// Digests travel as integers, which nobody adds.
constexpr std::int64_t kIntegers = sizeof(Digest128) / sizeof(std::int32_t);

Buffer make_buffer(RankContext& context, std::size_t digests) {
  return Buffer(&context.memory(), MemoryKind::kCommunication, DType::kInt32,
                kIntegers * static_cast<std::int64_t>(digests), context.storing());
}

void copy_into(Buffer& buffer, std::size_t first, const std::vector<Digest128>& digests) {
  if (digests.empty()) return;
  std::memcpy(buffer.data() + first * sizeof(Digest128), digests.data(), digests.size() * sizeof(Digest128));
}

std::vector<Digest128> copy_from(const Buffer& buffer, std::size_t first, std::size_t count) {
  std::vector<Digest128> digests(count);
  if (count == 0) return digests;
  std::memcpy(digests.data(), buffer.data() + first * sizeof(Digest128), count * sizeof(Digest128));
  return digests;
}

}  // namespace

Task<std::vector<std::vector<Digest128>>> exchange_digests(ProcessGroup& group, std::vector<Digest128> own) {
  const std::size_t count = own.size();
  const auto ranks = static_cast<std::size_t>(group.size());
  Buffer buffer = make_buffer(group.context(), count * ranks);
  const bool real = buffer.has_elements();
  if (real) copy_into(buffer, static_cast<std::size_t>(group.rank()) * count, own);
  const BufferView view(buffer);
  co_await all_gather(group, view);
  std::vector<std::vector<Digest128>> all;
  if (real) {
    for (std::size_t rank = 0; rank < ranks; ++rank) all.push_back(copy_from(buffer, rank * count, count));
  }
  co_return all;
}

Task<std::vector<Digest128>> share_digests(ProcessGroup& group, std::vector<Digest128> digests, int root) {
  Buffer buffer = make_buffer(group.context(), digests.size());
  const bool real = buffer.has_elements();
  if (real) copy_into(buffer, 0, digests);
  const BufferView view(buffer);
  co_await broadcast(group, view, root);
  if (real) digests = copy_from(buffer, 0, digests.size());
  co_return digests;
}

}  // namespace rehearse
