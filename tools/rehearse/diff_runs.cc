#include <bit>
#include <optional>

#include "core/model/layout.h"
#include "sim/trace/describe.h"
#include "sim/trace/record_comparison.h"
#include "sim/trace/state_difference.h"
#include "tools/rehearse/diff.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/state_capture.h"
#include "tools/rehearse/value_difference.h"

namespace rehearse {
namespace {

bool is_number(StateComponent component) {
  return component == StateComponent::kLearningRate || component == StateComponent::kBatchIndex ||
         component == StateComponent::kAppliedSteps || component == StateComponent::kLoss;
}

// A state whose record holds it whole.
std::string number_text(const EventRecord& record) {
  const std::uint64_t bits = record.digest.low;
  if (record.component == StateComponent::kBatchIndex || record.component == StateComponent::kAppliedSteps) {
    return std::to_string(bits);
  }
  return shortest_text(std::bit_cast<double>(bits)) + " (" + to_hex(record.digest).substr(16) + ")";
}

// A log without its faults: those are causes, and what they cause is to be found.
class WithoutFaults : public RecordSource {
 public:
  explicit WithoutFaults(const Recording& recording)
      : altered_(recording.altered), log_(recording.events_path, &altered_) {}
  bool next(EventRecord& record) override {
    while (log_.next(record)) {
      if (record.kind == EventKind::kFault) {
        faults_.push_back(record);
      } else if (record.kind == EventKind::kPacketFault) {
        ++packet_faults_;
      } else {
        return true;
      }
    }
    return false;
  }
  // Those that were met so far.
  const std::vector<EventRecord>& faults() const { return faults_; }
  std::int64_t packet_faults() const { return packet_faults_; }

 private:
  std::string altered_;
  LogReader log_;
  std::vector<EventRecord> faults_;
  std::int64_t packet_faults_ = 0;
};

class Comparison {
 public:
  Comparison(const Recording& a, const Recording& b, const Style& style)
      : a_(a), b_(b), style_(style), layout_(a.scenario.train.model) {}

  DiffReport run() {
    headers();
    const std::optional<RecordDifference> event = first_event();
    const std::optional<StateDifference> state = first_state();
    if (event) report_event(*event);
    if (!event) report_.text += "  every event is the same: " + std::to_string(a_.records) + " records\n";
    if (event) report_own_gradient(*event, state);
    if (state) {
      report_state(*state);
    } else if (event) {
      report_.text += "\nNo state differs: every rank has the same numbers in every step.\n";
      report_.json["state"] = Json();
    }
    report_.identical = !event && !state;
    return std::move(report_);
  }

 private:
  // What may explain a difference.
  void headers() {
    const auto note = [&](const std::string& what, const std::string& one, const std::string& other) {
      if (one != other) report_.text += "  note: another " + what + ": " + one + " and " + other + "\n";
    };
    note("scenario", a_.header.scenario_sha256, b_.header.scenario_sha256);
    note("seed", std::to_string(a_.header.seed), std::to_string(b_.header.seed));
    note("number of ranks", std::to_string(a_.header.ranks), std::to_string(b_.header.ranks));
    note("build of rehearse", a_.header.build, b_.header.build);
    note("processor", a_.header.cpu, b_.header.cpu);
    for (const Recording* one : {&a_, &b_}) {
      if (!one->altered.empty()) report_.text += "  note: " + one->events_path + ": " + one->altered + "\n";
    }
  }

  std::optional<RecordDifference> first_event() {
    WithoutFaults one(a_);
    WithoutFaults other(b_);
    std::optional<RecordDifference> difference = first_difference(one, other);
    report_faults("A", one);
    report_faults("B", other);
    return difference;
  }
  std::optional<StateDifference> first_state() const {
    LastAttempts one([this] { return std::make_unique<WithoutFaults>(a_); }, a_.header.resumed_from.value_or(0));
    LastAttempts other([this] { return std::make_unique<WithoutFaults>(b_); }, b_.header.resumed_from.value_or(0));
    return first_state_difference(one, other);
  }

  void report_faults(const char* name, const WithoutFaults& log) {
    for (const EventRecord& fault : log.faults()) {
      report_.text += std::string("  note: in ") + name + ", " + describe(fault) + "\n";
    }
    if (log.packet_faults() == 0) return;
    report_.text += std::string("  note: in ") + name + ", faults of links have struck " +
                    std::to_string(log.packet_faults()) + (log.packet_faults() == 1 ? " packet" : " packets") +
                    " until then\n";
  }

  void report_event(const RecordDifference& difference) {
    report_.text += section_title("First differing event", style_);
    Json json;
    json["event"] = (difference.expected ? difference.expected : difference.found)->sequence;
    const auto line = [&](const char* name, const std::optional<EventRecord>& record) {
      const std::string text = record ? describe(*record, &layout_) : "nothing: the log ends here";
      report_.text += std::string("  ") + name + "  " + text + "\n";
      json[name] = text;
    };
    line("A", difference.expected);
    line("B", difference.found);
    if (difference.expected && difference.found) {
      report_.text += "  differs in " + differing_fields(*difference.expected, *difference.found) + "\n";
    }
    report_.json["event"] = std::move(json);
  }

  // Where the first event that differs is a message with gradients, what its sender had put in: the rank's own gradient
  // is in no log.
  void report_own_gradient(const RecordDifference& event, const std::optional<StateDifference>& state) {
    if (!event.expected || !event.found || event.expected->digest == event.found->digest) return;
    const EventRecord& message = *event.expected;
    const bool gradients = message.operation == Operation::kReduceScatter || message.operation == Operation::kAllReduce;
    if (message.kind != EventKind::kDelivery || !gradients || message.index < 0 ||
        a_.scenario.ranks != b_.scenario.ranks) {
      return;
    }
    CaptureRequest request;
    request.step = message.step;
    request.rank = message.peer;
    const Captured one = capture_state(a_, request);
    const Captured other = capture_state(b_, request);
    const auto element = first_own_difference(one, other);
    if (!element) return;
    const bool absorbed = !state || state->step > request.step || state->component != StateComponent::kGradients;
    report_.text += "  rank " + std::to_string(request.rank) +
                    " had put in another gradient of its own, before it was " + "summed: " + element->where + ": " +
                    element->value.a + " and " + element->value.b +
                    (element->value.distance.empty() ? "" : ", " + element->value.distance + " apart") + "\n";
    if (absorbed) report_.text += "  the sum over the ranks absorbs it: the reduced gradient of the step is the same\n";
    Json json;
    json["step"] = request.step;
    json["rank"] = request.rank;
    json["tensor"] = layout_.tensors()[static_cast<std::size_t>(element->tensor)].name;
    json["index"] = element->value.index;
    json["a"] = element->value.a;
    json["b"] = element->value.b;
    json["absorbed"] = absorbed;
    report_.json["own_gradient"] = std::move(json);
  }

  struct Element {
    int tensor = 0;
    std::string where;
    ValueDifference value;
  };
  std::optional<Element> first_own_difference(const Captured& one, const Captured& other) const {
    if (one.own_gradients.size() != layout_.tensors().size()) return std::nullopt;
    if (other.own_gradients.size() != one.own_gradients.size()) return std::nullopt;
    for (std::size_t t = 0; t < one.own_gradients.size(); ++t) {
      if (one.own_gradients[t].size() != other.own_gradients[t].size()) return std::nullopt;
      const auto value = first_value_difference(a_.scenario.train.dtype, one.own_gradients[t], other.own_gradients[t]);
      if (!value) continue;
      Element element;
      element.tensor = static_cast<int>(t);
      element.value = *value;
      const ParameterInfo& info = layout_.tensors()[t];
      element.where = info.name + index_text(value->index, info.shape);
      return element;
    }
    return std::nullopt;
  }

  void report_state(const StateDifference& difference) {
    const EventRecord& any = difference.a ? *difference.a : *difference.b;
    report_.text += section_title("First differing state", style_);
    report_.text += "  step " + std::to_string(difference.step) + ", rank " + std::to_string(difference.rank) + ": " +
                    describe_state(any, &layout_) + "\n";
    Json& json = report_.json["state"];
    json["step"] = difference.step;
    json["rank"] = difference.rank;
    json["component"] = name_of(difference.component);
    if (difference.tensor >= 0) json["tensor"] = describe_tensor(difference.tensor);
    if (!difference.a || !difference.b) {
      report_.text += std::string("  only ") + (difference.a ? "A" : "B") + " has it\n";
      return;
    }
    if (difference.a->step != difference.b->step) {
      report_.text += "  A is in step " + std::to_string(difference.a->step) + ", B in step " +
                      std::to_string(difference.b->step) + "\n";
      return;
    }
    if (is_number(difference.component)) {
      report_values(json, number_text(*difference.a), number_text(*difference.b), "");
      return;
    }
    report_elements(difference, json);
  }

  void report_values(Json& json, const std::string& one, const std::string& other, const std::string& distance) {
    report_.text += "  A  " + one + "\n  B  " + other + "\n";
    if (!distance.empty()) report_.text += "  " + distance + " apart\n";
    json["a"] = one;
    json["b"] = other;
    if (!distance.empty()) json["distance"] = distance;
  }

  // The values, from running both again; where a run does not give the state that its log has, only the tensor is
  // known.
  void report_elements(const StateDifference& difference, Json& json) {
    CaptureRequest request;
    request.step = difference.step;
    request.rank = difference.rank;
    request.component = difference.component;
    request.tensor = difference.tensor;
    request.offset = difference.offset;
    request.digest = difference.a->digest;
    const Captured one = capture_state(a_, request);
    request.digest = difference.b->digest;
    const Captured other = capture_state(b_, request);
    bool reproduced = true;
    const auto check = [&](const char* name, const Captured& captured, const EventRecord& record) {
      if (xxh3_128(captured.state) == record.digest && !captured.state.empty()) return;
      reproduced = false;
      report_.text += std::string("  run again, ") + name +
                      " does not give the state that its log has, so there are no values to show\n";
      json["not_reproduced"].push_back(name);
    };
    check("A", one, *difference.a);
    check("B", other, *difference.b);
    if (!reproduced) return;
    if (one.state.size() != other.state.size()) {
      report_.text += "  A has " + std::to_string(one.state.size()) + " bytes of it, B " +
                      std::to_string(other.state.size()) + "\n";
      return;
    }
    const auto value = first_value_difference(a_.scenario.train.dtype, one.state, other.state);
    if (!value) return;
    const ParameterInfo& info = layout_.tensors()[static_cast<std::size_t>(difference.tensor)];
    const std::int64_t index = difference.offset + value->index;
    report_.text += "  " + info.name + index_text(index, info.shape) + ", element " + std::to_string(index) +
                    "; it and " + std::to_string(value->differing - 1) + " more of what this rank holds differ\n";
    json["index"] = index;
    json["differing"] = value->differing;
    report_values(json, value->a, value->b, value->distance);
  }

  std::string describe_tensor(int tensor) const {
    const auto t = static_cast<std::size_t>(tensor);
    return t < layout_.tensors().size() ? layout_.tensors()[t].name : std::to_string(tensor);
  }

  const Recording& a_;
  const Recording& b_;
  const Style& style_;
  ParameterLayout layout_;
  DiffReport report_;
};

}  // namespace

DiffReport diff_runs(const Recording& a, const Recording& b, const Style& style) {
  return Comparison(a, b, style).run();
}

}  // namespace rehearse
