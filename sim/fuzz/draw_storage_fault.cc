#include "sim/fuzz/draw_faults.h"
#include "sim/fuzz/draw_place.h"

namespace rehearse {
namespace {

class StorageFault {
 public:
  StorageFault(const JobShape& shape, Dice& dice) : shape_(shape), dice_(dice) {}

  TextGroup draw(FaultName name) {
    switch (name) {
      case FaultName::kDiskFull:
        window();
        break;
      case FaultName::kIoError:
        if (dice_.chance(2, 3)) {
          fault_.add("operation", dice_.word_of({"WRITE", "READ", "FSYNC", "FSYNC_DIRECTORY", "RENAME", "REMOVE",
                                                 "MAKE_DIRECTORY", "LIST"}));
        }
        operations();
        if (dice_.chance(1, 2)) fault_.add("error", "NO_SPACE");
        break;
      case FaultName::kSlowDisk:
        fault_.add("factor", dice_.word_of({"2", "10", "100"}));
        if (dice_.chance(1, 2)) fault_.add("rank", rank());
        window();
        break;
      case FaultName::kTornWrite:
        fault_.add_quoted("keep", std::to_string(dice_.below(3000)) + "B");
        operations();
        break;
      case FaultName::kLostFsync:
        operations();
        break;
      case FaultName::kStaleView:
        fault_.add("rank", rank());
        if (dice_.chance(1, 2)) fault_.add_quoted("path", path());
        fault_.add_quoted("delay", dice_.microseconds(10, shape_.span));
        stale_window();
        return fault_;
      case FaultName::kPowerLoss:
        power_loss();
        return fault_;
      default:
        at_rest(name);
        break;
    }
    if (shape_.has_tiers && dice_.chance(1, 2)) fault_.add("local_disk", rank());
    return fault_;
  }

 private:
  std::int64_t rank() { return dice_.below(shape_.ranks); }

  std::string path() {
    return dice_.word_of({"checkpoints", "manifest.json", "shard_00001*", "run_state*", "*step_*", "model.safetensors",
                          "**step_000004/**", "step_000002", "**"});
  }

  // It always ends: after a time, or, where it takes nothing that training waits for, as a step begins.
  void window() {
    const std::int64_t from = dice_.below(shape_.span);
    fault_.add_quoted("from", std::to_string(from) + "us");
    fault_.add_quoted("until", dice_.microseconds(from + 1, from + 2 * shape_.span));
  }

  // Old views are seen by a job that looks for checkpoints, after a failure.
  void stale_window() {
    fault_.add_quoted("from", dice_.microseconds(0, shape_.span / 2));
    fault_.add_quoted("until", dice_.microseconds(shape_.span, 6 * shape_.span));
  }

  void operations() {
    if (dice_.chance(1, 2)) fault_.add("rank", rank());
    if (dice_.chance(1, 2)) fault_.add_quoted("path", path());
    if (dice_.chance(2, 3)) fault_.add("nth", dice_.between(1, 10));
    const bool all = dice_.chance(1, 4);
    if (all || dice_.chance(1, 3)) fault_.add("count", all ? 0 : dice_.between(1, 3));
    if (all) {
      window();
    } else if (dice_.chance(1, 4)) {
      fault_.add("from_step", dice_.between(1, shape_.steps));
    }
  }

  void after() {
    TextGroup after;
    after.add("operation", dice_.word_of({"ANY", "WRITE", "READ", "FSYNC", "FSYNC_DIRECTORY", "RENAME", "REMOVE",
                                          "MAKE_DIRECTORY", "LIST"}));
    if (dice_.chance(1, 3)) after.add("rank", rank());
    if (dice_.chance(1, 3)) after.add_quoted("path", path());
    after.add("nth", dice_.between(1, 20));
    fault_.add_group("after", std::move(after));
  }

  void when() {
    const std::int64_t kind = dice_.below(shape_.saves ? 3 : 2);
    if (kind == 2) return after();
    if (kind == 1) {
      fault_.add_quoted("time", draw_time(shape_, dice_));
      return;
    }
    TextGroup at;
    at.add("step", dice_.between(1, shape_.steps));
    at.add("phase", dice_.word_of({"DATA", "FORWARD", "BACKWARD", "REDUCE", "OPTIMIZER", "GATHER"}));
    fault_.add_group("at", std::move(at));
    fault_.add("rank", rank());
  }

  void at_rest(FaultName name) {
    fault_.add_quoted("path", path());
    if (name == FaultName::kRot) fault_.add("offset", dice_.below(2000)).add("bit", dice_.below(8));
    when();
  }

  void power_loss() {
    const std::string left = dice_.word_of({"NONE_SURVIVE", "ALL_SURVIVE", "TORN"});
    fault_.add("unsynced", left);
    if (left == "TORN") fault_.add_quoted("torn_after", std::to_string(dice_.below(2000)) + "B");
    when();
  }

  const JobShape& shape_;
  Dice& dice_;
  TextGroup fault_;
};

}  // namespace

TextGroup draw_storage_fault(FaultName name, const JobShape& shape, Dice& dice) {
  return StorageFault(shape, dice).draw(name);
}

}  // namespace rehearse
