#include <algorithm>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/model/activations.h"
#include "core/model/layout.h"
#include "core/parallel/units.h"
#include "core/train/gradient_dispute.h"
#include "sim/config/convert.h"
#include "sim/config/convert_domains.h"
#include "sim/config/convert_fault_when.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/units_parser.h"

namespace rehearse {
namespace {

FaultTarget convert_target(config::Target target) {
  switch (target) {
    case config::GRADIENT:
      return FaultTarget::kGradient;
    case config::PARAMETER:
      return FaultTarget::kParameter;
    case config::MASTER:
      return FaultTarget::kMaster;
    case config::FIRST_MOMENT:
      return FaultTarget::kFirstMoment;
    case config::SECOND_MOMENT:
      return FaultTarget::kSecondMoment;
    case config::ACTIVATION:
      return FaultTarget::kActivation;
  }
  check_failed(__FILE__, __LINE__, "a target that the schema does not have");
}

int index_of(const std::vector<std::string>& names, const std::string& name, const std::string& path,
             const Origins& origins) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) origins.fail(path, "found \"" + name + "\"; " + suggestion(name, names));
  return static_cast<int>(found - names.begin());
}

// Where units are reduced while backward runs, the rank's own gradient is whole only in steps that compute it twice.
void check_own_gradient(const FaultWhen& when, const std::string& path, const Origins& origins,
                        const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  if (when.at.phase != Phase::kReduce || (!train.overlap && train.zero_stage < 2)) return;
  const std::int64_t twice = train.guards.recompute_every;
  const bool once = when.every == 0 && when.until_step == 0;
  if (once && check_number(twice, when.at.step, train.steps) > 0) return;
  if (when.every > 0 && twice > 0 && when.every % twice == 0 && when.at.step % twice == 0) return;
  origins.fail(path + ".at.phase", "found REDUCE for a gradient that is being reduced since backward began, as train." +
                                       std::string(train.zero_stage < 2 ? "overlap is true" : "zero_stage is 2 or 3") +
                                       "; allowed: only with zero_stage 0 or 1 without overlap, or in a step that "
                                       "train.guards.recompute_every computes twice");
}

// Only the rank that updates an element has its moments, its master weight and its summed gradient.
void check_is_updated(const FaultElements& elements, const FaultAddress& at, const ParameterLayout& layout,
                      const std::string& path, const Origins& origins, const Scenario& scenario) {
  const bool summed = elements.target == FaultTarget::kGradient && at.phase != Phase::kReduce;
  const bool whole_parameters = elements.target == FaultTarget::kParameter && scenario.train.zero_stage < 3;
  const bool shard_only = elements.target != FaultTarget::kGradient && !whole_parameters;
  if ((!summed && !shard_only) || scenario.train.zero_stage == 0) return;
  const UnitPlan plan(layout, scenario.train.bucket_elements(), static_cast<int>(scenario.train.data_ranks));
  const Unit& unit = plan.units()[static_cast<std::size_t>(plan.unit_of(elements.tensor))];
  const std::int64_t tensor_begin = plan.offset_in_unit(elements.tensor);
  const std::int64_t tensor_end = tensor_begin + layout.tensors()[static_cast<std::size_t>(elements.tensor)].numel;
  const std::int64_t begin = std::max(at.rank * unit.chunk, tensor_begin) - tensor_begin;
  const std::int64_t end = std::min((at.rank + 1) * unit.chunk, tensor_end) - tensor_begin;
  const std::int64_t last = elements.index + elements.count - 1;
  if (elements.index >= begin && last < end) return;
  const std::int64_t owner = (tensor_begin + elements.index) / unit.chunk;
  std::string allowed = "; rank " + std::to_string(at.rank) + " updates ";
  allowed += begin < end ? "elements " + std::to_string(begin) + " to " + std::to_string(end - 1) + " of it"
                         : std::string("nothing of it");
  const std::string found = std::to_string(elements.index) + (elements.count > 1 ? ".." + std::to_string(last) : "");
  origins.fail(path + ".index", "found " + found + allowed + ", rank " + std::to_string(owner) +
                                    " that element; allowed: an element that the rank updates");
}

struct TensorSize {
  int tensor = 0;
  std::int64_t numel = 0;
};

TensorSize find_activation(const std::string& name, const std::string& path, const Origins& origins,
                           const Scenario& scenario) {
  const TrainConfig& train = scenario.train;
  const Activations<float> shape(train.model, train.batch / train.accumulate, nullptr, Storing::kShapeOnly,
                                 train.recompute_blocks);
  const std::vector<ActivationTensor> tensors = shape.named();
  std::vector<std::string> names;
  for (const ActivationTensor& tensor : tensors) names.push_back(tensor.name);
  TensorSize found;
  found.tensor = index_of(names, name, path, origins);
  found.numel = tensors[static_cast<std::size_t>(found.tensor)].count;
  return found;
}

// What flips and overwritings have in common: `index` and `count` of elements of a named tensor.
template <class Message>
FaultElements convert_elements(const Message& message, std::int64_t count, const FaultWhen& when,
                               const std::string& path, const Origins& origins, const Scenario& scenario) {
  FaultElements elements;
  elements.target = convert_target(message.target());
  const bool activation = elements.target == FaultTarget::kActivation;
  const bool before_gradients =
      when.at.phase == Phase::kData || when.at.phase == Phase::kForward || when.at.phase == Phase::kBackward;
  const std::string phase = config::At::Phase_Name(message.at().phase());
  if (elements.target == FaultTarget::kGradient && before_gradients) {
    origins.fail(path + ".at.phase",
                 "found " + phase + ", when there is no gradient yet; allowed: REDUCE, OPTIMIZER, GATHER");
  }
  if (activation && when.at.phase != Phase::kBackward) {
    origins.fail(path + ".at.phase", "found " + phase + " for an ACTIVATION; allowed: BACKWARD");
  }
  if (elements.target == FaultTarget::kGradient) check_own_gradient(when, path, origins, scenario);
  const ParameterLayout layout(scenario.train.model);
  TensorSize size;
  if (activation) {
    size = find_activation(message.tensor(), path + ".tensor", origins, scenario);
  } else {
    std::vector<std::string> names;
    for (const ParameterInfo& info : layout.tensors()) names.push_back(info.name);
    size.tensor = index_of(names, message.tensor(), path + ".tensor", origins);
    size.numel = layout.tensors()[static_cast<std::size_t>(size.tensor)].numel;
  }
  elements.tensor = size.tensor;
  elements.tensor_name = message.tensor();
  elements.index = message.index();
  elements.count = count;
  if (elements.index >= size.numel) {
    origins.fail(path + ".index", "found " + std::to_string(elements.index) + "; allowed: 0 to " +
                                      std::to_string(size.numel - 1) + ", as " + message.tensor() + " has " +
                                      std::to_string(size.numel) + " elements");
  }
  if (count > size.numel - elements.index) {
    origins.fail(path + ".elements", "found " + std::to_string(count) + "; allowed: 1 to " +
                                         std::to_string(size.numel - elements.index) + ", as " + message.tensor() +
                                         " has " + std::to_string(size.numel) + " elements");
  }
  if (!activation) check_is_updated(elements, when.at, layout, path, origins, scenario);
  return elements;
}

const AllowedPlaces kMemoryPhases = {{config::At::DATA, config::At::FORWARD, config::At::BACKWARD, config::At::REDUCE,
                                      config::At::OPTIMIZER, config::At::GATHER},
                                     false};
const AllowedPlaces kAnywhere = {{}, true};

// The `when` of a crash or a hang: a place or a time.
template <class Message>
FaultWhen convert_end(const Message& message, std::int64_t rank, const std::string& path, const Origins& origins,
                      const Scenario& scenario) {
  if (!message.has_at() && !message.has_time()) {
    origins.fail(path, "says not when; allowed: at { step phase }, or time");
  }
  if (message.has_at()) return convert_when(rank, message.at(), kAnywhere, path, origins, scenario);
  check_rank(rank, path, origins, scenario);
  FaultWhen when;
  when.at.rank = static_cast<int>(rank);
  when.time = TimePoint::at(parse_duration(message.time()));
  return when;
}

FlipFault convert_flip(const config::Flip& flip, const FaultWhen& when, const std::string& path, const Origins& origins,
                       const Scenario& scenario) {
  FlipFault out;
  out.elements = convert_elements(flip, 1, when, path, origins, scenario);
  const std::int64_t bits = 8 * size_of(scenario.train.dtype);
  if (flip.bit() >= bits) {
    origins.fail(path + ".bit", "found " + std::to_string(flip.bit()) + "; allowed: 0 to " + std::to_string(bits - 1));
  }
  out.bit = static_cast<int>(flip.bit());
  return out;
}

WrittenValue convert_value(config::Overwrite::Value value) {
  switch (value) {
    case config::Overwrite::QUIET_NAN:
      return WrittenValue::kNan;
    case config::Overwrite::PLUS_INFINITY:
      return WrittenValue::kInfinity;
    case config::Overwrite::MINUS_INFINITY:
      return WrittenValue::kNegativeInfinity;
    case config::Overwrite::ZERO:
      return WrittenValue::kZero;
  }
  check_failed(__FILE__, __LINE__, "a value that the schema does not have");
}

rehearse::ProgramError convert_error(config::ProgramError::Kind kind) {
  switch (kind) {
    case config::ProgramError::SKIP:
      return rehearse::ProgramError::kSkip;
    case config::ProgramError::SIZE:
      return rehearse::ProgramError::kOtherSize;
    case config::ProgramError::TYPE:
      return rehearse::ProgramError::kOtherType;
    case config::ProgramError::ORDER:
      return rehearse::ProgramError::kOtherOrder;
  }
  check_failed(__FILE__, __LINE__, "a kind that the schema does not have");
}

// One list of the message after another, each with the paths of its elements.
class Converter {
 public:
  Converter(const config::Faults& faults, const Origins& origins, Scenario& scenario)
      : faults_(faults), origins_(origins), scenario_(scenario) {}

  void convert() {
    each("flip", faults_.flip(), [this](const config::Flip& flip, const std::string& path) {
      const FaultWhen when = convert_when(flip.rank(), flip.at(), kMemoryPhases, path, origins_, scenario_);
      add(when, convert_flip(flip, when, path, origins_, scenario_));
    });
    each("overwrite", faults_.overwrite(), [this](const config::Overwrite& overwrite, const std::string& path) {
      const FaultWhen when = convert_when(overwrite.rank(), overwrite.at(), kMemoryPhases, path, origins_, scenario_);
      OverwriteFault fault;
      fault.elements = convert_elements(overwrite, overwrite.elements(), when, path, origins_, scenario_);
      fault.value = convert_value(overwrite.with());
      add(when, fault);
    });
    each("spike", faults_.spike(), [this](const config::Spike& spike, const std::string& path) {
      SpikeFault fault;
      fault.target = spike.of() == config::Spike::LOSS ? SpikeTarget::kLoss : SpikeTarget::kGradient;
      fault.factor = spike.factor();
      const FaultWhen when =
          convert_when(spike.rank(), spike.at(), AllowedPlaces{{config::At::REDUCE}}, path, origins_, scenario_);
      if (fault.target == SpikeTarget::kGradient) check_own_gradient(when, path, origins_, scenario_);
      add(when, fault);
    });
    each("lr_spike", faults_.lr_spike(), [this](const config::LrFault& spike, const std::string& path) {
      LrSpikeFault fault;
      fault.factor = spike.factor();
      add(convert_when(kAllRanks, spike.at(), AllowedPlaces{{config::At::OPTIMIZER}}, path, origins_, scenario_),
          fault);
    });
    each("program", faults_.program(), [this](const config::ProgramError& error, const std::string& path) {
      AllowedPlaces allowed = {{config::At::REDUCE}};
      if (scenario_.train.zero_stage == 1 || scenario_.train.zero_stage == 2)
        allowed.phases.push_back(config::At::GATHER);
      ProgramFault fault;
      fault.error = convert_error(error.kind());
      add(convert_when(error.rank(), error.at(), allowed, path, origins_, scenario_), fault);
    });
    each("straggler", faults_.straggler(),
         [this](const config::Straggler& straggler, const std::string& path) { add_straggler(straggler, path); });
    each("crash", faults_.crash(), [this](const config::Crash& crash, const std::string& path) {
      const CrashTarget target = convert_crash_target(crash, path, origins_, scenario_);
      CrashFault fault;
      fault.kind = crash.kind() == config::Crash::HOST ? CrashKind::kHost : CrashKind::kProcess;
      fault.domain = target.domain;
      fault.unsynced = convert_host_loss(crash, path, origins_);
      FaultWhen when = convert_end(crash, target.ranks.first, path, origins_, scenario_);
      when.ranks = target.ranks.count;
      add_end(when, fault, path);
    });
    each("hang", faults_.hang(), [this](const config::Hang& hang, const std::string& path) {
      add_end(convert_end(hang, hang.rank(), path, origins_, scenario_), HangFault(), path);
    });
  }

 private:
  template <class Messages, class Use>
  void each(const char* name, const Messages& messages, Use use) {
    for (int i = 0; i < messages.size(); ++i) {
      use(messages[i], std::string("faults.") + name + "[" + std::to_string(i) + "]");
    }
  }

  template <class Kind>
  void add(const FaultWhen& when, const Kind& kind) {
    scenario_.faults.faults.push_back(Fault{when, kind});
  }

  // A rank, a host or a rack ends once at a place.
  template <class Kind>
  void add_end(const FaultWhen& when, const Kind& kind, const std::string& path) {
    for (const Fault& other : scenario_.faults.faults) {
      const bool ends = std::holds_alternative<CrashFault>(other.kind) || std::holds_alternative<HangFault>(other.kind);
      if (!ends || !(other.when == when)) continue;
      origins_.fail(path, "found a second end of " + words_of(RankRange{when.at.rank, when.ranks}) +
                              " at the same place; allowed: one crash or hang");
    }
    add(when, kind);
  }

  void add_straggler(const config::Straggler& straggler, const std::string& path) {
    check_rank(straggler.rank(), path, origins_, scenario_);
    const std::int64_t steps = scenario_.train.steps;
    if (straggler.from_step() > steps) {
      origins_.fail(path + ".from_step", "found " + std::to_string(straggler.from_step()) +
                                             "; allowed: 1 to train.steps, which is " + std::to_string(steps));
    }
    if (straggler.has_until_step() && straggler.until_step() < straggler.from_step()) {
      origins_.fail(path + ".until_step", "found " + std::to_string(straggler.until_step()) +
                                              "; allowed: at least from_step, which is " +
                                              std::to_string(straggler.from_step()));
    }
    const auto billionths = to_billionths(straggler.factor());
    if (!billionths) origins_.fail(path + ".factor", "found more than 9 decimals; allowed: at most 9");
    FaultWhen when;
    when.at.rank = static_cast<int>(straggler.rank());
    when.at.step = straggler.from_step();
    when.until_step = straggler.until_step();
    StragglerFault fault;
    fault.numerator = *billionths;
    fault.denominator = 1'000'000'000;
    add(when, fault);
  }

  const config::Faults& faults_;
  const Origins& origins_;
  Scenario& scenario_;
};

}  // namespace

void convert_faults(const config::Scenario& message, const Origins& origins, Scenario& scenario) {
  Converter(message.faults(), origins, scenario).convert();
}

}  // namespace rehearse
