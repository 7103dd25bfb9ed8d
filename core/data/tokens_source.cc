#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/data/sources.h"
#include "core/formats/safetensors.h"

namespace rehearse {
namespace {

[[noreturn]] void refuse(const InputFile& file, const std::string& why) {
  throw InputError("data.tokens_file '" + file.path + "': " + why);
}

TensorView find_tokens(const InputFile& file, std::span<const std::int64_t> expected_tail) {
  const auto parsed = SafetensorsFile::parse(std::as_bytes(std::span(*file.contents)), file.path);
  const TensorView* tokens = parsed.find("tokens");
  if (tokens == nullptr || parsed.tensors().size() != 1) {
    std::string names;
    for (const TensorView& tensor : parsed.tensors()) names += (names.empty() ? "" : ", ") + tensor.name;
    refuse(file, "holds the tensors [" + names + "]; it must hold exactly one, named tokens");
  }
  if (tokens->dtype != DType::kInt32) {
    refuse(file, std::string("tokens has type ") + name_of(tokens->dtype) + "; it must be I32");
  }
  const bool fits = tokens->shape.size() == 4 && tokens->shape[0] > 0 &&
                    std::equal(expected_tail.begin(), expected_tail.end(), tokens->shape.begin() + 1);
  if (!fits) {
    refuse(file, "tokens has shape " + shape_text(tokens->shape) +
                     "; cluster.ranks, train.batch and model.context ask for [steps, ranks, batch, context + 1] = " +
                     "[steps, " + std::to_string(expected_tail[0]) + ", " + std::to_string(expected_tail[1]) + ", " +
                     std::to_string(expected_tail[2]) + "]");
  }
  return *tokens;
}

// Batch b, rank r, sequence s is row tokens[b, r, s, :] of the file.
class TokensSource : public TokenSource {
 public:
  TokensSource(const TokensConfig& config, std::array<std::int64_t, 3> shape, std::int64_t vocab)
      : file_(config.file), shape_(shape), vocab_(vocab) {
    const TensorView view = find_tokens(file_, shape_);
    batches_ = view.shape[0];
    data_ = view.data;
    check_tokens();
  }

  std::int64_t vocab() const override { return vocab_; }
  std::int64_t batches() const override { return batches_; }

  void sequence(std::int64_t batch_index, int dp_rank, std::int64_t sequence_index,
                std::span<std::int32_t> tokens) const override {
    const auto [ranks, batch, window] = shape_;
    CHECK(batch_index >= 0 && batch_index < batches_);
    CHECK(dp_rank >= 0 && dp_rank < ranks);
    CHECK(sequence_index >= 0 && sequence_index < batch);
    CHECK_EQ(static_cast<std::int64_t>(tokens.size()), window);
    const std::int64_t row = (batch_index * ranks + dp_rank) * batch + sequence_index;
    std::memcpy(tokens.data(), data_.data() + row * window * size_of(DType::kInt32), tokens.size_bytes());
  }

  void eval_sequence(int, std::int64_t, std::span<std::int32_t>) const override { check_eval(); }
  void check_eval() const override {
    refuse(file_,
           "has no held-out batch, so train.eval_every must be 0; use synthetic data or a text_file to evaluate");
  }

 private:
  void check_tokens() const {
    const auto [ranks, batch, window] = shape_;
    const std::int64_t count = batches_ * ranks * batch * window;
    for (std::int64_t i = 0; i < count; ++i) {
      std::int32_t token = 0;
      std::memcpy(&token, data_.data() + i * size_of(DType::kInt32), sizeof(token));
      if (token >= 0 && token < vocab_) continue;
      const std::array<std::int64_t, 4> place = {i / window / batch / ranks, i / window / batch % ranks,
                                                 i / window % batch, i % window};
      refuse(file_, "tokens" + shape_text(place) + " (counted from 0) is " + std::to_string(token) +
                        "; allowed: 0 to model.vocab - 1 = " + std::to_string(vocab_ - 1));
    }
  }

  InputFile file_;                     // shares the bytes that data_ points into
  std::array<std::int64_t, 3> shape_;  // ranks, batch, context + 1
  std::int64_t vocab_;
  std::int64_t batches_ = 0;
  std::span<const std::byte> data_;
};

}  // namespace

std::unique_ptr<TokenSource> make_tokens_source(const TokensConfig& config, int dp_world_size, std::int64_t batch,
                                                std::int64_t context, std::int64_t vocab) {
  CHECK(config.file.contents != nullptr);
  return std::make_unique<TokensSource>(config, std::array<std::int64_t, 3>{dp_world_size, batch, context + 1}, vocab);
}

}  // namespace rehearse
