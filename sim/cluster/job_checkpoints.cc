#include "sim/cluster/job_checkpoints.h"

#include "core/checkpoint/directory.h"

namespace rehearse {

void JobCheckpoints::publish(std::int64_t step) {
  steps_.insert(step);
  rotate(step);
}

std::optional<std::int64_t> JobCheckpoints::go_back() {
  const std::vector<std::int64_t> order = policy_.order(points());
  if (order.empty()) return std::nullopt;
  rotate(order.front());
  return order.front();
}

std::vector<RecoveryPoint> JobCheckpoints::points() const {
  std::vector<RecoveryPoint> points;
  for (const std::int64_t step : steps_) {
    RecoveryPoint point;
    point.step = step;
    point.trusted = true;
    point.avoided = avoided_.contains(step);
    points.push_back(point);
  }
  return points;
}

void JobCheckpoints::rotate(std::int64_t last) {
  if (keep_ == 0) return;
  std::vector<RecoveryPoint> candidates = points();
  std::erase_if(candidates, [last](const RecoveryPoint& point) { return point.step > last; });
  std::vector<std::int64_t> there;
  for (const RecoveryPoint& point : candidates) there.push_back(point.step);
  for (const std::int64_t step : rotated_out(there, keep_, policy_.must_keep(candidates))) steps_.erase(step);
}

}  // namespace rehearse
