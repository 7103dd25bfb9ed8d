#include "core/base/digest.h"

#include <openssl/evp.h>
#include <xxhash.h>

#include <algorithm>

#include "core/base/check.h"

namespace rehearse {
namespace {

std::string hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace

struct Sha256::Context {
  Context() : md(EVP_MD_fetch(nullptr, "SHA256", nullptr)), ctx(EVP_MD_CTX_new()) {
    CHECK(md != nullptr && ctx != nullptr);
    start();
  }
  ~Context() {
    EVP_MD_CTX_free(ctx);
    EVP_MD_free(md);
  }
  void start() { CHECK_EQ(EVP_DigestInit_ex(ctx, md, nullptr), 1); }

  EVP_MD* md;
  EVP_MD_CTX* ctx;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  CHECK_EQ(EVP_DigestUpdate(context_->ctx, bytes.data(), bytes.size()), 1);
  return *this;
}

Sha256& Sha256::update(std::string_view text) { return update(std::as_bytes(std::span(text))); }

std::string Sha256::finish_hex() {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  CHECK_EQ(EVP_DigestFinal_ex(context_->ctx, digest.data(), &size), 1);
  CHECK_EQ(size, digest.size());
  context_->start();
  return hex(digest);
}

std::string sha256_hex(std::span<const std::byte> bytes) { return Sha256().update(bytes).finish_hex(); }
std::string sha256_hex(std::string_view text) { return Sha256().update(text).finish_hex(); }

bool is_sha256_hex(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Digest128 xxh3_128(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return Digest128{hash.high64, hash.low64};
}

struct Xxh3Stream::State {
  XXH3_state_t xxh3;
};

Xxh3Stream::Xxh3Stream() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh3); }
Xxh3Stream::~Xxh3Stream() = default;

void Xxh3Stream::update(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
}

Digest128 Xxh3Stream::finish() {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  XXH3_128bits_reset(&state_->xxh3);
  return Digest128{hash.high64, hash.low64};
}

std::string to_hex(Digest128 digest) {
  std::array<unsigned char, 16> bytes{};
  for (int i = 0; i < 8; ++i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<unsigned char>(digest.high >> (56 - 8 * i));
    bytes[static_cast<std::size_t>(8 + i)] = static_cast<unsigned char>(digest.low >> (56 - 8 * i));
  }
  return hex(bytes);
}

}  // namespace rehearse
