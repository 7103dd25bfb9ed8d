#include "core/checkpoint/verify.h"
#include "tests/core/checkpoint/tiny_checkpoint.h"

namespace rehearse {
namespace {

TEST(VerifyCheckpoint, EveryFlippedBitOfEveryFileIsRefused) {
  TinyCheckpoint tiny;
  std::size_t flips = 0;
  for (auto& [name, contents] : tiny.files) {
    for (std::size_t i = 0; i < contents.size(); ++i) {
      for (int bit = 0; bit < 8; ++bit, ++flips) {
        contents[i] = static_cast<char>(contents[i] ^ (1 << bit));
        try {
          verify_checkpoint(tiny.views(), "step_000010");
          ADD_FAILURE() << name << " byte " << i << " bit " << bit << " was accepted";
        } catch (const InputError&) {
        }
        contents[i] = static_cast<char>(contents[i] ^ (1 << bit));
      }
    }
  }
  EXPECT_GT(flips, 8U * 4000U);
  verify_checkpoint(tiny.views(), "step_000010");  // all flips were undone
}

}  // namespace
}  // namespace rehearse
