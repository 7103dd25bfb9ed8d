#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "core/base/check.h"
#include "sim/config/convert.h"
#include "sim/config/convert_fault_when.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

using Operation = config::NthOperation::Operation;

// Of a loss of power or of a host.
template <class Message>
PowerLoss convert_loss(const Message& message, const std::string& path, const Origins& origins) {
  PowerLoss out;
  const bool torn = message.unsynced() == config::PowerLoss::TORN;
  if (torn && !message.has_torn_after()) {
    origins.fail(path + ".unsynced", "found TORN without torn_after; allowed: with it");
  }
  if (!torn && message.has_torn_after()) {
    origins.fail(path + ".torn_after", "found \"" + message.torn_after() + "\"; allowed: only with unsynced: TORN");
  }
  const bool none = message.unsynced() == config::PowerLoss::NONE_SURVIVE;
  out.survivors = none ? PowerLoss::Survivors::kNone : PowerLoss::Survivors::kAll;
  if (torn) out.torn_after = parse_size(message.torn_after());
  return out;
}

// The storage faults of a scenario, one kind after the other.
class Converter {
 public:
  Converter(const config::Faults& faults, const Origins& origins, Scenario& scenario)
      : faults_(faults), origins_(origins), scenario_(scenario), plan_(scenario.faults.storage) {}

  void convert() {
    each("disk_full", faults_.disk_full(), &Converter::disk_full);
    each("io_error", faults_.io_error(), &Converter::io_error);
    each("slow_disk", faults_.slow_disk(), &Converter::slow_disk);
    each("torn_write", faults_.torn_write(), &Converter::torn_write);
    each("lost_fsync", faults_.lost_fsync(), &Converter::lost_fsync);
    each("rot", faults_.rot(), &Converter::rot);
    each("missing_file", faults_.missing_file(), &Converter::missing_file);
    each("stale_view", faults_.stale_view(), &Converter::stale_view);
    each("power_loss", faults_.power_loss(), &Converter::power_loss);
  }

 private:
  template <class List, class Message>
  void each(const char* name, const List& list, void (Converter::*convert_one)(const Message&)) {
    for (int i = 0; i < list.size(); ++i) {
      path_ = "faults." + std::string(name) + "[" + std::to_string(i) + "]";
      (this->*convert_one)(list[i]);
    }
  }

  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    origins_.fail(path_ + field, what);
  }

  void check_saves() const {
    if (scenario_.train.checkpoint.any()) return;
    fail("", "strikes nothing, as nothing is saved; allowed: only with checkpoint.every_steps or every");
  }

  int rank(const std::string& field, std::int64_t value) const {
    if (value >= scenario_.known_ranks()) {
      fail(field, "found " + std::to_string(value) + "; allowed: " + scenario_.allowed_ranks());
    }
    return static_cast<int>(value);
  }

  template <class Message>
  std::optional<int> local_disk(const Message& message, const std::string& field = "") const {
    if (!message.has_local_disk()) return std::nullopt;
    if (!scenario_.train.checkpoint.tiers.has_value()) {
      fail(field + ".local_disk", "found " + std::to_string(message.local_disk()) +
                                      ", but nothing is saved on local disks; allowed: only with checkpoint.tiers");
    }
    return rank(field + ".local_disk", message.local_disk());
  }

  std::int64_t step(const std::string& field, std::int64_t value) const {
    if (value > scenario_.train.steps) {
      fail(field, "found " + std::to_string(value) + "; allowed: a step of the run, 1 to train.steps, which is " +
                      std::to_string(scenario_.train.steps));
    }
    return value;
  }

  std::string pattern(const std::string& field, const std::string& text) const {
    const std::string slashed = "/" + text + "/";
    for (const char* bad : {"//", "/./", "/../"}) {
      if (slashed.find(bad) == std::string::npos) continue;
      fail(field, "found \"" + text +
                      "\"; allowed: names with / between them, none of them empty, . or .., and * and ** in them");
    }
    return text;
  }

  template <class Message>
  DiskWindow window(const Message& message) const {
    DiskWindow out;
    if (message.has_from()) out.from = TimePoint::at(parse_duration(message.from()));
    if (message.has_until()) out.until = TimePoint::at(parse_duration(message.until()));
    if (message.has_from_step()) out.from_step = step(".from_step", message.from_step());
    if (message.has_until_step()) out.until_step = step(".until_step", message.until_step());
    if (out.until && *out.until <= out.from.value_or(TimePoint())) {
      fail(".until", "found \"" + message.until() +
                         "\", when nothing has begun; allowed: later than from, which is \"" +
                         canonical_text(out.from.value_or(TimePoint()).since_start()) + "\"");
    }
    if (out.until_step > 0 && out.until_step <= std::max<std::int64_t>(out.from_step, 1)) {
      fail(".until_step", "found " + std::to_string(out.until_step) +
                              ", when nothing has begun; allowed: later than from_step, which is " +
                              std::to_string(std::max<std::int64_t>(out.from_step, 1)));
    }
    return out;
  }

  static std::optional<FileOperation> operation(Operation operation) {
    switch (operation) {
      case config::NthOperation::ANY:
        return std::nullopt;
      case config::NthOperation::WRITE:
        return FileOperation::kWrite;
      case config::NthOperation::READ:
        return FileOperation::kRead;
      case config::NthOperation::FSYNC:
        return FileOperation::kFsync;
      case config::NthOperation::FSYNC_DIRECTORY:
        return FileOperation::kFsyncDirectory;
      case config::NthOperation::RENAME:
        return FileOperation::kRename;
      case config::NthOperation::REMOVE:
        return FileOperation::kRemove;
      case config::NthOperation::MAKE_DIRECTORY:
        return FileOperation::kMakeDirectory;
      case config::NthOperation::LIST:
        return FileOperation::kList;
    }
    check_failed(__FILE__, __LINE__, "an operation that the schema does not have");
  }

  template <class Message>
  OperationFilter filter(const Message& message, std::optional<FileOperation> of, const std::string& field = "") const {
    OperationFilter out;
    out.operation = of;
    if (message.has_rank()) out.rank = rank(field + ".rank", message.rank());
    if (message.has_path()) out.path = pattern(field + ".path", message.path());
    out.local_disk = local_disk(message, field);
    return out;
  }

  template <class Message>
  OperationFault operation_fault(const Message& message, OperationFault::Effect effect,
                                 std::optional<FileOperation> of) const {
    check_saves();
    OperationFault out;
    out.effect = effect;
    out.on = filter(message, of);
    out.nth = message.nth();
    out.count = message.count();
    out.window = window(message);
    return out;
  }

  void disk_full(const config::DiskFull& message) {
    check_saves();
    OperationFault out;
    out.effect = OperationFault::Effect::kNoSpace;
    out.on.operation = FileOperation::kWrite;
    out.on.local_disk = local_disk(message);
    out.count = 0;
    out.window = window(message);
    plan_.operations.push_back(out);
  }

  void io_error(const config::IoError& message) {
    const bool no_space = message.error() == config::IoError::NO_SPACE;
    const auto effect = no_space ? OperationFault::Effect::kNoSpace : OperationFault::Effect::kIoError;
    plan_.operations.push_back(operation_fault(message, effect, operation(message.operation())));
  }

  void torn_write(const config::TornWrite& message) {
    OperationFault out = operation_fault(message, OperationFault::Effect::kTorn, FileOperation::kWrite);
    out.keep = parse_size(message.keep());
    plan_.operations.push_back(out);
  }

  void lost_fsync(const config::LostFsync& message) {
    plan_.operations.push_back(operation_fault(message, OperationFault::Effect::kLost, std::nullopt));
  }

  void slow_disk(const config::SlowDisk& message) {
    check_saves();
    constexpr std::int64_t kBillion = 1'000'000'000;
    const std::optional<std::int64_t> billionths = to_billionths(message.factor());
    if (!billionths) fail(".factor", "found more than 9 decimals; allowed: at most 9");
    const std::int64_t common = std::gcd(*billionths, kBillion);
    SlowDiskFault out;
    if (message.has_rank()) out.rank = rank(".rank", message.rank());
    out.local_disk = local_disk(message);
    out.numerator = *billionths / common;
    out.denominator = kBillion / common;
    out.window = window(message);
    plan_.slow.push_back(out);
  }

  void stale_view(const config::StaleView& message) {
    check_saves();
    StaleViewFault out;
    out.rank = rank(".rank", message.rank());
    if (message.has_path()) out.path = pattern(".path", message.path());
    out.delay = parse_duration(message.delay());
    out.window = window(message);
    plan_.stale.push_back(out);
  }

  template <class Message>
  DiskFault disk_fault(const Message& message, DiskFault::Kind kind) const {
    DiskFault out;
    out.kind = kind;
    if (!message.has_at() && !message.has_time() && !message.has_after()) {
      fail("", "says not when; allowed: at { step phase }, time, or after { operation path nth }");
    }
    out.rank = rank(".rank", message.rank());
    if (message.has_time()) {
      out.time = TimePoint::at(parse_duration(message.time()));
    } else if (message.has_after()) {
      check_saves();
      out.after = filter(message.after(), operation(message.after().operation()), ".after");
      out.nth = message.after().nth();
    } else {
      const FaultAddress address = convert_address(out.rank, message.at(), path_, origins_, scenario_);
      out.step = address.step;
      out.phase = address.phase;
    }
    return out;
  }

  void rot(const config::Rot& message) {
    check_saves();
    DiskFault out = disk_fault(message, DiskFault::Kind::kRot);
    out.path = pattern(".path", message.path());
    out.local_disk = local_disk(message);
    out.offset = message.offset();
    out.bit = static_cast<int>(message.bit());
    plan_.disk.push_back(out);
  }

  void missing_file(const config::MissingFile& message) {
    check_saves();
    DiskFault out = disk_fault(message, DiskFault::Kind::kMissing);
    out.path = pattern(".path", message.path());
    out.local_disk = local_disk(message);
    plan_.disk.push_back(out);
  }

  void power_loss(const config::PowerLoss& message) {
    DiskFault out = disk_fault(message, DiskFault::Kind::kPower);
    out.loss = convert_loss(message, path_, origins_);
    plan_.disk.push_back(out);
  }

  const config::Faults& faults_;
  const Origins& origins_;
  const Scenario& scenario_;
  StorageFaultPlan& plan_;
  std::string path_;
};

}  // namespace

void convert_storage_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  Converter(message.faults(), origins, scenario).convert();
}

PowerLoss convert_host_loss(const config::Crash& crash, const std::string& path, const Origins& origins) {
  if (crash.kind() != config::Crash::HOST && (crash.has_unsynced() || crash.has_torn_after())) {
    origins.fail(path + (crash.has_unsynced() ? ".unsynced" : ".torn_after"),
                 "found with a crash of the process, whose unsynced operations are all there; allowed: only with kind: "
                 "HOST");
  }
  return convert_loss(crash, path, origins);
}

}  // namespace rehearse
