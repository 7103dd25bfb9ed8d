#include "core/parallel/background_save.h"

#include <string>
#include <utility>

#include "core/base/check.h"

namespace rehearse {
namespace {

// However it ends, with an error too.
class Finally {
 public:
  explicit Finally(bool& done) : done_(done) {}
  ~Finally() { done_ = true; }
  Finally(const Finally&) = delete;
  Finally& operator=(const Finally&) = delete;

 private:
  bool& done_;
};

}  // namespace

BackgroundSave::State::State(RankContext& context, Duration timeout, std::uint32_t id)
    : group(ProcessGroup::world(context, timeout, id)) {}

BackgroundSave::BackgroundSave(RankContext& context, Duration timeout, std::uint32_t group)
    : context_(context), state_(std::make_shared<State>(context, timeout, group)) {}

void BackgroundSave::start(SaveRequest request) {
  CHECK(!is_open());
  state_->done = false;
  const std::string name = "save of step " + std::to_string(request.step);
  Task<SaveResult> task = publish(state_, std::move(request));
  activity_.emplace(context_.spawn(name, std::move(task)));
}

Task<SaveResult> BackgroundSave::finish() {
  CHECK(is_open());
  Activity<SaveResult> activity = *activity_;
  activity_.reset();
  SaveResult result = co_await activity.join();
  co_return result;
}

Task<SaveResult> BackgroundSave::publish(std::shared_ptr<State> state, SaveRequest request) {
  const Finally mark(state->done);
  SaveResult result = co_await publish_training_state(state->group, std::move(request));
  co_return result;
}

}  // namespace rehearse
