#include "core/runtime/payload.h"

#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

namespace rehearse {

namespace {
constexpr std::size_t kAlignment = 64;
constexpr int kSizeClasses = 48;
}  // namespace

// A block's header fills whole alignment units, the bytes follow.
struct alignas(kAlignment) Payload::Block {
  PayloadPool::Shared* pool;
  Block* next_free;
  std::int64_t references;
  std::int64_t charged;  // bytes counted in the account
  int size_class;
  bool has_digest;
  Digest128 digest;
  std::vector<std::byte> owned;  // instead of bytes behind the header; pool is null

  std::byte* bytes() { return reinterpret_cast<std::byte*>(this + 1); }
};

// Lives as long as the pool or any of its blocks.
struct PayloadPool::Shared {
  MemoryAccount* account;
  std::int64_t live_blocks = 0;
  bool pool_is_gone = false;
  std::array<Payload::Block*, kSizeClasses> free{};

  void delete_free_blocks() {
    for (Payload::Block*& head : free) {
      while (head != nullptr) {
        Payload::Block* block = std::exchange(head, head->next_free);
        std::free(block);
      }
    }
  }
};

Payload Payload::shape_only(Bytes size) {
  CHECK_GE(size.count(), 0);
  return Payload(nullptr, nullptr, size);
}

std::span<const std::byte> Payload::bytes() const {
  CHECK(has_data());
  return {data_, static_cast<std::size_t>(size_.count())};
}

std::string_view Payload::text() const {
  const auto all = bytes();
  return {reinterpret_cast<const char*>(all.data()), all.size()};
}

Payload Payload::own(std::vector<std::byte> bytes) {
  if (bytes.empty()) return Payload();
  const Bytes size(static_cast<std::int64_t>(bytes.size()));
  auto* block = new Block{nullptr, nullptr, 1, 0, 0, false, Digest128(), std::move(bytes)};
  return Payload(block, block->owned.data(), size);
}

Digest128 Payload::digest() const {
  if (block_ == nullptr) return Digest128();
  if (!block_->has_digest) {
    block_->digest = xxh3_128(bytes());
    block_->has_digest = true;
  }
  return block_->digest;
}

bool Payload::is_own() const { return block_ == nullptr || block_->pool == nullptr; }

void Payload::retain_block() { ++block_->references; }

void Payload::release_block() {
  if (--block_->references > 0) return;
  PayloadPool::Shared* pool = block_->pool;
  if (pool == nullptr) {
    delete std::exchange(block_, nullptr);
    return;
  }
  if (pool->account != nullptr) pool->account->release(MemoryKind::kCommunication, Bytes(block_->charged));
  --pool->live_blocks;
  if (pool->pool_is_gone) {
    std::destroy_at(block_);
    std::free(block_);
    if (pool->live_blocks == 0) delete pool;
  } else {
    Block*& head = pool->free[static_cast<std::size_t>(block_->size_class)];
    block_->next_free = std::exchange(head, block_);
  }
  block_ = nullptr;
}

PayloadPool::PayloadPool(MemoryAccount* account) : account_(account) {}

PayloadPool::~PayloadPool() {
  if (shared_ == nullptr) return;
  shared_->delete_free_blocks();
  shared_->pool_is_gone = true;
  if (shared_->live_blocks == 0) delete shared_;
}

std::pair<Payload, std::span<std::byte>> PayloadPool::make(Bytes size) {
  CHECK_GE(size.count(), 0);
  if (size.count() == 0) return {Payload(), {}};
  if (shared_ == nullptr) shared_ = new Shared{account_};
  const auto wanted = std::max<std::size_t>(static_cast<std::size_t>(size.count()), kAlignment);
  const int size_class = std::bit_width(wanted - 1);
  CHECK_LT(size_class, kSizeClasses);
  Payload::Block*& head = shared_->free[static_cast<std::size_t>(size_class)];
  Payload::Block* block = head;
  if (block != nullptr) {
    head = block->next_free;
  } else {
    void* memory = std::aligned_alloc(kAlignment, sizeof(Payload::Block) + (std::size_t{1} << size_class));
    if (memory == nullptr) throw std::bad_alloc();
    block = ::new (memory) Payload::Block{shared_, nullptr, 0, 0, size_class, false, Digest128(), {}};
  }
  block->references = 1;
  block->charged = size.count();
  block->has_digest = false;
  ++shared_->live_blocks;
  if (shared_->account != nullptr) shared_->account->allocate(MemoryKind::kCommunication, size);
  return {Payload(block, block->bytes(), size), {block->bytes(), static_cast<std::size_t>(size.count())}};
}

Payload PayloadPool::copy_of(std::span<const std::byte> bytes) {
  auto [payload, target] = make(Bytes(static_cast<std::int64_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(target.data(), bytes.data(), bytes.size());
  return std::move(payload);
}

Payload PayloadPool::copy_of(const BufferView& view) {
  if (!view.has_elements()) return Payload::shape_only(view.bytes());
  return copy_of({view.data, static_cast<std::size_t>(view.bytes().count())});
}

}  // namespace rehearse
