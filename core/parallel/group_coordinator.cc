#include "core/parallel/group_coordinator.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/comm/collectives.h"

namespace rehearse {
namespace {

// Collectives move typed elements; a text travels as 32-bit words, the last filled up with zeros.
std::size_t words_for(std::size_t length) { return (length + 3) / 4; }

std::vector<std::int32_t> to_words(const std::string& text) {
  CHECK_LE(text.size(), static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()));
  std::vector<std::int32_t> words(words_for(text.size()));
  if (!text.empty()) std::memcpy(words.data(), text.data(), text.size());
  return words;
}

std::string to_text(const std::vector<std::int32_t>& words, std::size_t length) {
  return std::string(reinterpret_cast<const char*>(words.data()), length);
}

BufferView view_of(std::vector<std::int32_t>& words) { return BufferView(std::span(words)); }

}  // namespace

Task<std::vector<std::string>> GroupCoordinator::gather(std::string mine) {
  const bool root = group_.rank() == 0;
  const auto ranks = static_cast<std::size_t>(group_.size());
  std::vector<std::int32_t> length(1, static_cast<std::int32_t>(mine.size()));
  std::vector<std::vector<std::int32_t>> lengths(root ? ranks : 0, std::vector<std::int32_t>(1));
  std::vector<BufferView> into;
  for (auto& one : lengths) into.push_back(view_of(one));
  const BufferView own_length = view_of(length);
  co_await rehearse::gather(group_, own_length, into, 0);

  std::vector<std::int32_t> words = to_words(mine);
  std::vector<std::vector<std::int32_t>> texts;
  into.clear();
  for (const auto& one : lengths) texts.emplace_back(words_for(static_cast<std::size_t>(one[0])));
  for (auto& one : texts) into.push_back(view_of(one));
  const BufferView own_words = view_of(words);
  co_await rehearse::gather(group_, own_words, into, 0);

  std::vector<std::string> result;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    result.push_back(to_text(texts[r], static_cast<std::size_t>(lengths[r][0])));
  }
  co_return result;
}

Task<std::string> GroupCoordinator::broadcast(std::string from_rank_0) {
  std::vector<std::int32_t> length(1, static_cast<std::int32_t>(from_rank_0.size()));
  const BufferView length_view = view_of(length);
  co_await rehearse::broadcast(group_, length_view, 0);
  const auto bytes = static_cast<std::size_t>(length[0]);
  std::vector<std::int32_t> words(words_for(bytes));
  if (group_.rank() == 0) words = to_words(from_rank_0);
  const BufferView words_view = view_of(words);
  co_await rehearse::broadcast(group_, words_view, 0);
  co_return to_text(words, bytes);
}

Task<Payload> GroupCoordinator::pass_on(Payload mine, int distance) {
  CHECK(distance > 0 && distance < group_.size());
  RankContext& context = group_.context();
  const int to = (group_.rank() + distance) % group_.size();
  const int from = (group_.rank() - distance + group_.size()) % group_.size();
  const Call call = group_.next_call(Operation::kPointToPoint);
  context.tracer().collective_begin(call, mine.size());
  Payload other = co_await context.comm().exchange(call, to, std::move(mine), from);
  context.tracer().collective_end(call);
  co_return other;
}

Task<Payload> GroupCoordinator::carry(Payload own, int from, std::vector<int> to) {
  RankContext& context = group_.context();
  const Call call = group_.next_call(Operation::kPointToPoint);
  Payload data;
  const bool receives = std::find(to.begin(), to.end(), group_.rank()) != to.end();
  if (group_.rank() != from && !receives) co_return data;
  context.tracer().collective_begin(call, own.size());
  if (receives) {
    CHECK_NE(group_.rank(), from);
    data = co_await context.comm().recv(call, from);
  } else {
    for (const int peer : to) co_await context.comm().send(call, peer, own);
  }
  context.tracer().collective_end(call);
  co_return data;
}

}  // namespace rehearse
