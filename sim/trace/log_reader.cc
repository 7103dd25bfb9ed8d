#include "sim/trace/log_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <fstream>
#include <limits>
#include <span>

#include "core/base/error.h"
#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.pb.h"

namespace rehearse {
namespace {

// No frame of ours comes near; whoever claims more is not to make us allocate it.
constexpr std::uint64_t kLargestFrame = 4 << 20;

constexpr std::uint32_t kLargestPhase = static_cast<std::uint32_t>(Phase::kEnd);
constexpr std::uint32_t kLargestComponent = static_cast<std::uint32_t>(StateComponent::kLoss);

}  // namespace

class LogReader::Frames {
 public:
  explicit Frames(std::istream* stream) : input_(stream) {}

  enum class Result { kFrame, kEnd, kCut, kDamaged };
  // `bytes` gets the frame's, without their size.
  Result next(trace::LogFrame& frame, std::string& bytes) {
    google::protobuf::io::CodedInputStream coded(&input_);
    const auto bytes_left = [&coded] {
      const void* data = nullptr;
      int count = 0;
      return coded.GetDirectBufferPointer(&data, &count);
    };
    if (!bytes_left()) return Result::kEnd;
    // In 64 bits: in 32 a size beyond them would lose its upper half. A size that does not end is damage, not an end.
    std::uint64_t size = 0;
    if (!coded.ReadVarint64(&size)) return bytes_left() ? Result::kDamaged : Result::kCut;
    if (size > kLargestFrame) return Result::kDamaged;
    if (!coded.ReadString(&bytes, static_cast<int>(size))) return Result::kCut;
    if (!frame.ParseFromString(bytes)) return Result::kDamaged;
    return Result::kFrame;
  }

 private:
  google::protobuf::io::IstreamInputStream input_;
};

LogReader::LogReader(const std::string& path, std::string* altered)
    : LogReader(std::make_unique<std::ifstream>(path, std::ios::binary), path, altered) {}

LogReader::LogReader(std::unique_ptr<std::istream> stream, const std::string& path, std::string* altered)
    : path_(path), altered_(altered), stream_(std::move(stream)) {
  if (!*stream_) throw InputError(path_ + ": cannot be read");
  frames_ = std::make_unique<Frames>(stream_.get());
  read_header();
}

LogReader::~LogReader() = default;

void LogReader::refuse(const std::string& what) const { throw InputError(path_ + ": " + what); }

void LogReader::read_header() {
  trace::LogFrame frame;
  const Frames::Result result = frames_->next(frame, header_frame_);
  if (result == Frames::Result::kEnd) refuse("is empty; an event log begins with a header");
  if (result != Frames::Result::kFrame || !frame.has_header()) refuse("is not an event log: no header is found");
  const trace::LogHeader& in = frame.header();
  if (in.schema_version() != kLogSchemaVersion) {
    refuse("has schema version " + std::to_string(in.schema_version()) + "; this program reads version " +
           std::to_string(kLogSchemaVersion));
  }
  if (in.ranks() < 1) refuse("is damaged: the header says " + std::to_string(in.ranks()) + " ranks");
  header_.scenario = in.scenario();
  header_.scenario_sha256 = in.scenario_sha256();
  header_.arithmetic_sha256 = in.arithmetic_sha256();
  header_.seed = in.seed();
  header_.ranks = in.ranks();
  if (in.has_resumed_from()) header_.resumed_from = in.resumed_from();
  header_.build = in.build();
  header_.cpu = in.cpu();
}

void LogReader::read_block() {
  const std::string where = "after record " + std::to_string(records_);
  trace::LogFrame frame;
  std::string bytes;
  switch (frames_->next(frame, bytes)) {
    case Frames::Result::kFrame:
      break;
    case Frames::Result::kEnd:
    case Frames::Result::kCut:
      refuse("is cut short " + where + ": its run was stopped before it ended, or the file was not copied whole");
    case Frames::Result::kDamaged:
      refuse("is damaged " + where + ": what follows is no block of records");
  }
  if (frame.has_end()) {
    if (frame.end().records() != records_) {
      refuse("is damaged: it has " + std::to_string(records_) + " records and says that it has " +
             std::to_string(frame.end().records()));
    }
    trace::LogFrame more;
    if (frames_->next(more, bytes) != Frames::Result::kEnd) refuse("is damaged: something follows the end");
    event_digest_ = frame.end().event_digest();
    outcome_ = frame.end().outcome();
    const Digest128 seal{frame.end().seal_high(), frame.end().seal_low()};
    if (seal != log_seal(header_frame_, records_, event_digest_, outcome_)) {
      refuse("is damaged: its header or its end was changed after it was written");
    }
    const std::string digest = digest_.finish();
    if (digest != event_digest_) {
      note_altered("its records have the digest " + digest + ", and it says " + event_digest_ +
                   ": the file was changed after it was written");
    }
    ended_ = true;
    return;
  }
  if (!frame.has_block()) refuse("is damaged " + where + ": what follows is no block of records");
  const trace::LogBlock& in = frame.block();
  const int count = in.time_size();
  if (count < 1 || static_cast<std::uint64_t>(count) > kRecordsPerBlock || in.first() != records_) {
    refuse("is damaged " + where + ": a block of " + std::to_string(count) + " records begins with record " +
           std::to_string(in.first()));
  }
  block_.assign(static_cast<std::size_t>(count), EventRecord());
  next_ = 0;

  // A column is whole or not there; numbers that no record can have are damage.
  const auto column = [&](const auto& field, const char* name, const auto& set) {
    if (field.empty()) return;
    if (field.size() != count) {
      refuse("is damaged " + where + ": column " + name + " has " + std::to_string(field.size()) + " of " +
             std::to_string(count) + " entries");
    }
    for (int i = 0; i < count; ++i) set(block_[static_cast<std::size_t>(i)], field.Get(i));
  };
  const auto small = [&](std::uint32_t value, std::uint32_t largest, const char* name) {
    if (value > largest) refuse("is damaged " + where + ": " + name + " " + std::to_string(value) + " does not exist");
    return static_cast<std::uint8_t>(value);
  };
  if (in.kind_size() != count) refuse("is damaged " + where + ": column kind is not whole");
  if (in.sequence_size() != count) refuse("is damaged " + where + ": column sequence is not whole");
  std::uint64_t time = 0;  // wraps where a damaged file makes it
  std::uint64_t sequence = 0;
  for (int i = 0; i < count; ++i) {
    time += static_cast<std::uint64_t>(in.time(i));
    sequence += static_cast<std::uint64_t>(in.sequence(i));
    EventRecord& record = block_[static_cast<std::size_t>(i)];
    record.time = TimePoint::at(Duration::picoseconds(static_cast<std::int64_t>(time)));
    record.sequence = sequence;
  }
  using R = EventRecord&;
  column(in.call(), "call", [](R r, auto v) { r.call = v; });
  column(in.step(), "step", [](R r, auto v) { r.step = v; });
  column(in.size(), "size", [](R r, auto v) { r.size = v; });
  column(in.offset(), "offset", [](R r, auto v) { r.offset = v; });
  column(in.payload_high(), "payload_high", [](R r, auto v) { r.digest.high = v; });
  column(in.payload_low(), "payload_low", [](R r, auto v) { r.digest.low = v; });
  column(in.rank(), "rank", [](R r, auto v) { r.rank = v; });
  column(in.peer(), "peer", [](R r, auto v) { r.peer = v; });
  column(in.group(), "group", [](R r, auto v) { r.group = v; });
  column(in.generation(), "generation", [](R r, auto v) { r.generation = v; });
  column(in.index(), "index", [](R r, auto v) { r.index = v; });
  column(in.kind(), "kind", [&](R r, auto v) {
    if (!is_event_kind(v)) refuse("is damaged " + where + ": kind " + std::to_string(v) + " does not exist");
    r.kind = static_cast<EventKind>(v);
  });
  column(in.operation(), "operation",
         [&](R r, auto v) { r.operation = static_cast<Operation>(small(v, kOperations - 1, "operation")); });
  column(in.phase(), "phase", [&](R r, auto v) { r.phase = static_cast<Phase>(small(v, kLargestPhase, "phase")); });
  column(in.component(), "component",
         [&](R r, auto v) { r.component = static_cast<StateComponent>(small(v, kLargestComponent, "component")); });

  const Digest128 digest = xxh3_128(std::as_bytes(std::span(block_)));
  if (digest != Digest128{in.digest_high(), in.digest_low()}) {
    const std::string what = "records " + std::to_string(records_) + " to " +
                             std::to_string(records_ + static_cast<std::uint64_t>(count) - 1) +
                             " do not match their own digest: the file was changed after it was written";
    note_altered(what);
  }
}

void LogReader::note_altered(const std::string& what) {
  if (altered_ == nullptr) refuse(what);
  if (altered_->empty()) *altered_ = what;
}

bool LogReader::next(EventRecord& record) {
  if (next_ == block_.size() && !ended_) {
    block_.clear();
    next_ = 0;
    try {
      read_block();
    } catch (...) {
      block_.clear();  // nothing of it is to be had
      throw;
    }
  }
  if (ended_) return false;
  record = block_[next_++];
  ++records_;
  digest_.on_record(record);
  return true;
}

}  // namespace rehearse
