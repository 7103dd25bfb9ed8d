#include "core/train/gradient_check.h"

#include <cstring>
#include <map>

#include "core/parallel/digest_exchange.h"

namespace rehearse {

template <class T>
GradientCheck<T>::GradientCheck(RankContext& context, const TrainConfig& config, const BatchShare& share,
                                const TokenSource& source, DataParallel<T>& parallel, Microbatch<T>& microbatch)
    : context_(context),
      config_(config),
      share_(share),
      source_(source),
      parallel_(parallel),
      microbatch_(microbatch),
      parameters_(parallel.const_parameters()),
      tokens_(has_numbers() ? static_cast<std::size_t>(share.sequences * (config.model.context + 1)) : 0) {
  const UnitPlan& plan = parallel.plan();
  for (const Unit& unit : plan.units()) {
    gradients_.emplace_back(&context.memory(), MemoryKind::kGradients, parallel.types().gradients, unit.padded_numel,
                            context.storing());
  }
  for (int tensor = 0; tensor < static_cast<int>(parallel.layout().tensors().size()); ++tensor) {
    Buffer& unit = gradients_[static_cast<std::size_t>(plan.unit_of(tensor))];
    gradient_table_.tensors.push_back(unit.has_elements() ? unit.template as<T>().data() + plan.offset_in_unit(tensor)
                                                          : nullptr);
  }
}

template <class T>
Task<std::vector<GradientDispute>> GradientCheck<T>::run(std::int64_t step, std::int64_t batch_index) {
  const int offset = check_offset(check(step), parallel_.size());
  const UnitDigests mine = co_await digests_of_own();
  const UnitDigests others = co_await compute_again((parallel_.rank() + offset) % parallel_.size(), batch_index);
  UnitDigests both = mine;
  both.insert(both.end(), others.begin(), others.end());
  const std::vector<UnitDigests> said = co_await exchange_digests(parallel_.group(), both);
  std::vector<UnitDigests> own;
  std::vector<UnitDigests> again;
  for (const UnitDigests& one : said) {
    const auto middle = one.begin() + static_cast<std::ptrdiff_t>(mine.size());
    own.emplace_back(one.begin(), middle);
    again.emplace_back(middle, one.end());
  }
  const std::vector<GradientDispute> disputes = find_disputes(own, again, offset);
  std::vector<GradientDispute> settled = co_await settle_all(disputes, own, again, batch_index);
  co_return settled;
}

// All third ranks compute at the same time, and then speak one after the other.
template <class T>
Task<std::vector<GradientDispute>> GradientCheck<T>::settle_all(const std::vector<GradientDispute>& disputes,
                                                                const std::vector<UnitDigests>& own,
                                                                const std::vector<UnitDigests>& again,
                                                                std::int64_t batch_index) {
  std::map<int, UnitDigests> computed;  // by owner
  for (const GradientDispute& dispute : disputes) {
    if (dispute.third != parallel_.rank()) continue;
    const UnitDigests digests = co_await compute_again(dispute.owner, batch_index);
    computed.emplace(dispute.owner, digests);
  }
  std::vector<GradientDispute> settled;
  for (const GradientDispute& dispute : disputes) {
    if (dispute.third < 0) {
      settled.push_back(dispute);
      continue;
    }
    const auto owner = static_cast<std::size_t>(dispute.owner);
    UnitDigests said(own[owner].size());
    if (dispute.third == parallel_.rank()) said = computed.at(dispute.owner);
    const UnitDigests third = co_await share_digests(parallel_.group(), said, dispute.third);
    const std::vector<GradientDispute> verdicts =
        settle(dispute, own[owner], again[static_cast<std::size_t>(dispute.checker)], third);
    settled.insert(settled.end(), verdicts.begin(), verdicts.end());
  }
  co_return settled;
}

template <class T>
Task<UnitDigests> GradientCheck<T>::digests_of_own() {
  UnitDigests digests(gradients_.size());
  auto work = [&] {
    for (std::size_t u = 0; u < digests.size(); ++u) {
      const BufferView unit = parallel_.unit_gradients(static_cast<int>(u));
      digests[u] = xxh3_128({unit.data, static_cast<std::size_t>(unit.bytes().count())});
    }
  };
  const ComputeCost cost = cost_of_digests();
  co_await context_.device().run(cost, work);
  co_return digests;
}

template <class T>
Task<UnitDigests> GradientCheck<T>::compute_again(int rank, std::int64_t batch_index) {
  if (has_numbers()) {
    hand_out(share_, config_.batch, rank, std::span(tokens_),
             [&](int planned_rank, std::int64_t sequence, std::span<std::int32_t> tokens) {
               source_.sequence(batch_index, planned_rank, sequence, tokens);
             });
  }
  for (Buffer& unit : gradients_) {
    if (unit.has_elements()) std::memset(unit.data(), 0, static_cast<std::size_t>(unit.bytes().count()));
  }
  for (std::int64_t i = 0; i < share_.microbatches; ++i) {
    const std::span<const std::int32_t> tokens = microbatch_of(share_, std::span<const std::int32_t>(tokens_), i);
    co_await microbatch_.forward(parameters_, tokens);
    co_await microbatch_.backward(parameters_, tokens, gradient_table_, share_.loss_scale());
  }
  UnitDigests digests(gradients_.size());
  auto work = [&] {
    for (std::size_t u = 0; u < digests.size(); ++u) {
      const Unit& unit = parallel_.plan().units()[u];
      digests[u] = xxh3_128({gradients_[u].data(), static_cast<std::size_t>(unit.numel) * sizeof(T)});
    }
  };
  const ComputeCost cost = cost_of_digests();
  co_await context_.device().run(cost, work);
  co_return digests;
}

template <class T>
ComputeCost GradientCheck<T>::cost_of_digests() const {
  return ComputeCost(Flops(0), Bytes(parallel_.layout().total() * size_of(parallel_.types().gradients)));
}

template class GradientCheck<float>;
template class GradientCheck<double>;

}  // namespace rehearse
