#include "core/train/state_seal.h"

#include <cstring>
#include <span>

namespace rehearse {
namespace {

Digest128 digest_of(const std::vector<Digest128>& digests) { return xxh3_128(std::as_bytes(std::span(digests))); }

Digest128 digest_of(const BufferView& view) {
  return xxh3_128({view.data, static_cast<std::size_t>(view.bytes().count())});
}

}  // namespace

std::string words_of(StateParts parts) {
  std::vector<const char*> names;
  if ((parts & kParametersPart) != 0) names.push_back("parameters");
  if ((parts & kMasterPart) != 0) names.push_back("master weights");
  if ((parts & kFirstMomentPart) != 0) names.push_back("first moments");
  if ((parts & kSecondMomentPart) != 0) names.push_back("second moments");
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

template <class T>
Task<> StateSeal<T>::seal_all() {
  co_await seal_optimizer();
  co_await seal_parameters();
}

template <class T>
Task<> StateSeal<T>::seal_optimizer() {
  auto work = [this] { optimizer_ = digests_of_optimizer(); };
  const ComputeCost cost(Flops(0), optimizer_bytes());
  co_await context_.device().run(cost, work);
}

template <class T>
Task<> StateSeal<T>::seal_parameters() {
  auto work = [this] { parameters_ = digest_of_parameters(); };
  const ComputeCost cost(Flops(0), parameter_bytes());
  co_await context_.device().run(cost, work);
}

template <class T>
Task<std::vector<StateParts>> StateSeal<T>::changed() {
  StateParts own_parts = 0;
  auto work = [this, &own_parts] { own_parts = compare(); };
  const ComputeCost cost(Flops(0), optimizer_bytes() + parameter_bytes());
  co_await context_.device().run(cost, work);
  const StepSums own(own_parts, 0, 0, 0);
  const std::vector<StepSums> said = co_await parallel_.exchange_sums(own);
  std::vector<StateParts> parts;
  for (const StepSums& one : said) parts.push_back(static_cast<StateParts>(one.loss));
  co_return parts;
}

template <class T>
StateParts StateSeal<T>::compare() const {
  const Digests now = digests_of_optimizer();
  StateParts parts = 0;
  if (now.master != optimizer_.master) parts |= kMasterPart;
  if (now.m != optimizer_.m) parts |= kFirstMomentPart;
  if (now.v != optimizer_.v) parts |= kSecondMomentPart;
  const bool same = digest_of_parameters() == parameters_;
  if (!same || (parts == 0 && !parameters_match_master())) parts |= kParametersPart;
  return parts;
}

template <class T>
typename StateSeal<T>::Digests StateSeal<T>::digests_of_optimizer() const {
  std::vector<Digest128> master;
  std::vector<Digest128> m;
  std::vector<Digest128> v;
  for (int unit = 0; unit < static_cast<int>(parallel_.plan().units().size()); ++unit) {
    const auto shard = parallel_.held(unit);
    master.push_back(digest_of(shard.master));
    m.push_back(digest_of(shard.m));
    v.push_back(digest_of(shard.v));
  }
  Digests digests;
  digests.master = digest_of(master);
  digests.m = digest_of(m);
  digests.v = digest_of(v);
  return digests;
}

template <class T>
Digest128 StateSeal<T>::digest_of_parameters() const {
  std::vector<Digest128> digests;
  if (parallel_.shards_parameters()) {
    for (const ShardPiece& piece : parallel_.pieces()) {
      digests.push_back(xxh3_128({piece.parameters, static_cast<std::size_t>(piece.count) * sizeof(T)}));
    }
    return digest_of(digests);
  }
  const auto& infos = parallel_.layout().tensors();
  for (std::size_t t = 0; t < infos.size(); ++t) {
    const std::span<const T> tensor(parallel_.parameters().tensors[t], static_cast<std::size_t>(infos[t].numel));
    digests.push_back(xxh3_128(std::as_bytes(tensor)));
  }
  return digest_of(digests);
}

template <class T>
bool StateSeal<T>::parameters_match_master() const {
  for (const ShardPiece& piece : parallel_.pieces()) {
    if (std::memcmp(piece.parameters, piece.master, static_cast<std::size_t>(piece.count) * sizeof(T)) != 0)
      return false;
  }
  return true;
}

template <class T>
Bytes StateSeal<T>::optimizer_bytes() const {
  std::int64_t bytes = 0;
  for (int unit = 0; unit < static_cast<int>(parallel_.plan().units().size()); ++unit) {
    bytes += 3 * parallel_.held(unit).master.bytes().count();
  }
  return Bytes(bytes);
}

template <class T>
Bytes StateSeal<T>::parameter_bytes() const {
  std::int64_t bytes = 0;
  if (parallel_.shards_parameters()) return Bytes(optimizer_bytes().count() / 3);
  for (const ParameterInfo& info : parallel_.layout().tensors()) {
    bytes += info.numel * size_of(parallel_.types().parameters);
  }
  return Bytes(bytes);
}

template class StateSeal<float>;
template class StateSeal<double>;

}  // namespace rehearse
