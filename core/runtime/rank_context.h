#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/base/buffer.h"
#include "core/runtime/clock.h"
#include "core/runtime/communicator.h"
#include "core/runtime/device.h"
#include "core/runtime/storage.h"
#include "core/runtime/tracer.h"

namespace rehearse {

class RankContext;

// A spawned Task that can be awaited once, by join(). Its result or exception arrives there; an exception that nobody
// joins fails the rank when its main Task ends. Dropping the handle does not stop the activity.
template <class T>
class Activity {
 public:
  // The Task stands on its own: it may outlive this handle.
  Task<T> join() { return join_result(context_, id_, result_); }

 private:
  friend class RankContext;
  struct Result {
    std::optional<T> value;
  };
  Activity(RankContext* context, std::shared_ptr<Result> result) : context_(context), result_(std::move(result)) {}
  static Task<T> join_result(RankContext* context, std::uint32_t id, std::shared_ptr<Result> result);

  RankContext* context_;
  std::uint32_t id_ = 0;
  std::shared_ptr<Result> result_;
};

template <>
class Activity<void> {
 public:
  auto join();

 private:
  friend class RankContext;
  explicit Activity(RankContext* context) : context_(context) {}
  RankContext* context_;
  std::uint32_t id_ = 0;
};

// Everything a rank program sees of its world. It cannot tell a simulator from a cluster.
class RankContext {
 public:
  virtual ~RankContext() = default;

  int rank() const { return comm().rank(); }
  int world_size() const { return comm().world_size(); }
  virtual Communicator& comm() const = 0;
  virtual Clock& clock() const = 0;
  virtual Device& device() const = 0;
  virtual Storage& storage() const = 0;
  virtual Tracer& tracer() const = 0;
  virtual MemoryAccount& memory() const = 0;
  // Whether buffers hold elements; kShapeOnly in cost-only mode.
  virtual Storing storing() const = 0;
  // Counts restarts of the job; groups carry it.
  virtual std::uint32_t generation() const = 0;

  // Starts a Task that runs beside the caller; it dies with the rank and stands in the deadlock table by its name.
  template <class T>
  Activity<T> spawn(std::string name, Task<T> task) {
    if constexpr (std::is_void_v<T>) {
      Activity<void> activity(this);
      activity.id_ = start_activity(std::move(name), std::move(task));
      return activity;
    } else {
      auto result = std::make_shared<typename Activity<T>::Result>();
      Activity<T> activity(this, result);
      activity.id_ = start_activity(std::move(name), run_into<T>(std::move(result), std::move(task)));
      return activity;
    }
  }

 protected:
  virtual std::uint32_t start_activity(std::string name, Task<void> task) = 0;
  virtual void start_join(std::uint32_t activity, Completion<> done) = 0;

 private:
  template <class T>
  friend class Activity;
  auto join(std::uint32_t activity) {
    return make_operation<>([this, activity](Completion<> done) { start_join(activity, std::move(done)); });
  }
  template <class T>
  static Task<void> run_into(std::shared_ptr<typename Activity<T>::Result> result, Task<T> task) {
    result->value = co_await std::move(task);
  }
};

template <class T>
Task<T> Activity<T>::join_result(RankContext* context, std::uint32_t id, std::shared_ptr<Result> result) {
  co_await context->join(id);
  co_return std::move(*result->value);
}
inline auto Activity<void>::join() { return context_->join(id_); }

}  // namespace rehearse
