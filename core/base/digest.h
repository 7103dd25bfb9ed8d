#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rehearse {

// SHA-256 of bytes given in pieces (OpenSSL; the digest context is made once and reused).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  // Ends this digest and starts the next: 64 lower-case hex digits.
  std::string finish_hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);

// True for exactly 64 lower-case hex digits, the only form in which files carry a SHA-256.
bool is_sha256_hex(std::string_view text);

// XXH3-128: fast, not cryptographic. For payloads, tensors and event blocks.
struct Digest128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Digest128&) const = default;
};
Digest128 xxh3_128(std::span<const std::byte> bytes);
std::string to_hex(Digest128 digest);

// The same of bytes given in pieces.
class Xxh3Stream {
 public:
  Xxh3Stream();
  ~Xxh3Stream();
  Xxh3Stream(const Xxh3Stream&) = delete;
  Xxh3Stream& operator=(const Xxh3Stream&) = delete;

  void update(std::span<const std::byte> bytes);
  // Ends this digest and starts the next.
  Digest128 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rehearse
