#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/data/sources.h"
#include "core/data/utf8.h"

namespace rehearse {
namespace {

std::vector<char32_t> decode(const InputFile& file) {
  std::vector<char32_t> characters;
  characters.reserve(file.contents->size());
  for (std::size_t offset = 0; offset < file.contents->size();) {
    const auto character = decode_utf8(*file.contents, offset);
    if (!character) {
      throw InputError("data.text_file '" + file.path + "': byte " + std::to_string(offset) +
                       " (counted from 0) does not start a UTF-8 character; the text must be valid UTF-8");
    }
    characters.push_back(character->code_point);
    offset += character->bytes;
  }
  return characters;
}

// Windows of context + 1 characters at uniformly drawn places. Training reads the first nine tenths, the held-out batch
// the last tenth (rounded down).
class TextSource : public TokenSource {
 public:
  TextSource(std::string path, std::vector<std::int32_t> tokens, std::int64_t vocab, std::uint64_t seed,
             std::int64_t context)
      : path_(std::move(path)),
        tokens_(std::move(tokens)),
        train_size_(tokens_.size() - tokens_.size() / 10),
        vocab_(vocab),
        window_(static_cast<std::size_t>(context) + 1),
        stream_(RandomStream(seed).fork("data").fork("text")) {
    if (train_size_ < window_) {
      throw InputError("data.text_file '" + path_ + "': the first nine tenths, which training reads, have " +
                       std::to_string(train_size_) +
                       " characters; a sequence needs model.context + 1 = " + std::to_string(window_));
    }
  }

  std::int64_t vocab() const override { return vocab_; }
  std::int64_t batches() const override { return -1; }

  void sequence(std::int64_t batch_index, int dp_rank, std::int64_t sequence_index,
                std::span<std::int32_t> tokens) const override {
    CHECK_GE(batch_index, 0);
    draw(stream_.fork(static_cast<std::uint64_t>(batch_index)), dp_rank, sequence_index,
         std::span(tokens_).first(train_size_), tokens);
  }

  void eval_sequence(int dp_rank, std::int64_t sequence_index, std::span<std::int32_t> tokens) const override {
    check_eval();
    draw(stream_.fork("eval"), dp_rank, sequence_index, std::span(tokens_).subspan(train_size_), tokens);
  }

  void check_eval() const override {
    const std::size_t eval_size = tokens_.size() - train_size_;
    if (eval_size >= window_) return;
    throw InputError("data.text_file '" + path_ + "': the last tenth, held out for train.eval_every, has " +
                     std::to_string(eval_size) +
                     " characters; a sequence needs model.context + 1 = " + std::to_string(window_));
  }

 private:
  void draw(const RandomStream& batch, int dp_rank, std::int64_t sequence_index, std::span<const std::int32_t> region,
            std::span<std::int32_t> tokens) const {
    CHECK_GE(dp_rank, 0);
    CHECK_GE(sequence_index, 0);
    CHECK_EQ(tokens.size(), window_);
    RandomStream stream =
        batch.fork(static_cast<std::uint64_t>(dp_rank)).fork(static_cast<std::uint64_t>(sequence_index));
    const std::size_t start = stream.below(region.size() - window_ + 1);
    std::copy_n(region.begin() + static_cast<std::ptrdiff_t>(start), window_, tokens.begin());
  }

  std::string path_;
  std::vector<std::int32_t> tokens_;
  std::size_t train_size_;  // characters of the region that training reads
  std::int64_t vocab_;      // distinct characters
  std::size_t window_;      // context + 1
  RandomStream stream_;
};

}  // namespace

std::unique_ptr<TokenSource> make_text_source(const TextConfig& config, std::uint64_t seed, std::int64_t context,
                                              std::int64_t vocab) {
  CHECK(config.file.contents != nullptr);
  const std::vector<char32_t> characters = decode(config.file);
  std::vector<char32_t> alphabet = characters;
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  if (std::cmp_greater(alphabet.size(), vocab)) {
    throw InputError("data.text_file '" + config.file.path + "': " + std::to_string(alphabet.size()) +
                     " distinct characters; model.vocab allows " + std::to_string(vocab));
  }
  std::vector<std::int32_t> tokens;
  tokens.reserve(characters.size());
  for (const char32_t character : characters) {
    const auto place = std::lower_bound(alphabet.begin(), alphabet.end(), character);
    tokens.push_back(static_cast<std::int32_t>(place - alphabet.begin()));
  }
  return std::make_unique<TextSource>(config.file.path, std::move(tokens), static_cast<std::int64_t>(alphabet.size()),
                                      seed, context);
}

}  // namespace rehearse
