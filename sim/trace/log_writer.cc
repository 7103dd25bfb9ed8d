#include "sim/trace/log_writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <span>

#include "sim/trace/event_digest.h"
#include "sim/trace/event_log.pb.h"

namespace rehearse {
namespace {

// `frame` is the frame's bytes without their size.
void append_sized(const std::string& frame, std::string& buffer) {
  google::protobuf::io::StringOutputStream stream(&buffer);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteVarint32(static_cast<std::uint32_t>(frame.size()));
  coded.WriteString(frame);
}

void append_frame(const trace::LogFrame& frame, std::string& buffer) {
  append_sized(frame.SerializeAsString(), buffer);
}

// Writes a column unless all of it is `absent`.
template <class Field, class Value>
void write_column(std::span<const EventRecord> records, Field* field, Value absent,
                  Value (*value)(const EventRecord&)) {
  bool any = false;
  for (const EventRecord& record : records) any = any || value(record) != absent;
  if (!any) return;
  field->Reserve(static_cast<int>(records.size()));
  for (const EventRecord& record : records) field->AddAlreadyReserved(value(record));
}

using I32 = std::int32_t;
using U32 = std::uint32_t;
using I64 = std::int64_t;
using U64 = std::uint64_t;

void write_block(std::span<const EventRecord> records, trace::LogBlock& block) {
  const Digest128 digest = xxh3_128(std::as_bytes(records));
  block.set_digest_high(digest.high);
  block.set_digest_low(digest.low);
  U64 time = 0;  // differences wrap, as the reader's sums do
  U64 sequence = 0;
  for (const EventRecord& record : records) {
    const auto now = static_cast<U64>(record.time.ps());
    block.add_time(static_cast<I64>(now - time));
    block.add_sequence(static_cast<I64>(record.sequence - sequence));
    time = now;
    sequence = record.sequence;
  }
  write_column<>(
      records, block.mutable_call(), U64{0}, +[](const EventRecord& r) { return r.call; });
  write_column<>(
      records, block.mutable_step(), I64{0}, +[](const EventRecord& r) { return r.step; });
  write_column<>(
      records, block.mutable_size(), I64{0}, +[](const EventRecord& r) { return r.size; });
  write_column<>(
      records, block.mutable_offset(), I64{-1}, +[](const EventRecord& r) { return r.offset; });
  write_column<>(
      records, block.mutable_payload_high(), U64{0}, +[](const EventRecord& r) { return r.digest.high; });
  write_column<>(
      records, block.mutable_payload_low(), U64{0}, +[](const EventRecord& r) { return r.digest.low; });
  write_column<>(
      records, block.mutable_rank(), I32{-1}, +[](const EventRecord& r) { return r.rank; });
  write_column<>(
      records, block.mutable_peer(), I32{-1}, +[](const EventRecord& r) { return r.peer; });
  write_column<>(
      records, block.mutable_group(), U32{0}, +[](const EventRecord& r) { return r.group; });
  write_column<>(
      records, block.mutable_generation(), U32{0}, +[](const EventRecord& r) { return r.generation; });
  write_column<>(
      records, block.mutable_index(), I32{-1}, +[](const EventRecord& r) { return r.index; });
  write_column<>(
      records, block.mutable_kind(), U32{0}, +[](const EventRecord& r) { return static_cast<U32>(r.kind); });
  write_column<>(
      records, block.mutable_operation(), U32{0}, +[](const EventRecord& r) { return static_cast<U32>(r.operation); });
  write_column<>(
      records, block.mutable_phase(), U32{0}, +[](const EventRecord& r) { return static_cast<U32>(r.phase); });
  write_column<>(
      records, block.mutable_component(), U32{0}, +[](const EventRecord& r) { return static_cast<U32>(r.component); });
}

}  // namespace

LogWriter::LogWriter(const LogHeader& header, std::function<void(std::string_view)> write) : write_(std::move(write)) {
  block_.reserve(kRecordsPerBlock);
  trace::LogFrame frame;
  trace::LogHeader& out = *frame.mutable_header();
  out.set_schema_version(kLogSchemaVersion);
  out.set_scenario(header.scenario);
  out.set_scenario_sha256(header.scenario_sha256);
  out.set_arithmetic_sha256(header.arithmetic_sha256);
  out.set_seed(header.seed);
  out.set_ranks(header.ranks);
  if (header.resumed_from.has_value()) out.set_resumed_from(*header.resumed_from);
  out.set_build(header.build);
  out.set_cpu(header.cpu);
  header_frame_ = frame.SerializeAsString();
  append_sized(header_frame_, buffer_);
  write_(buffer_);
}

void LogWriter::on_record(const EventRecord& record) {
  block_.push_back(record);
  digest_.on_record(record);
  ++records_;
  if (block_.size() == kRecordsPerBlock) flush();
}

void LogWriter::flush() {
  if (block_.empty()) return;
  trace::LogFrame frame;
  trace::LogBlock& block = *frame.mutable_block();
  block.set_first(records_ - block_.size());
  write_block(block_, block);
  block_.clear();
  buffer_.clear();
  append_frame(frame, buffer_);
  write_(buffer_);
}

void LogWriter::finish(const std::string& outcome) {
  flush();
  const std::string event_digest = digest_.finish();
  trace::LogFrame frame;
  frame.mutable_end()->set_records(records_);
  frame.mutable_end()->set_event_digest(event_digest);
  frame.mutable_end()->set_outcome(outcome);
  const Digest128 seal = log_seal(header_frame_, records_, event_digest, outcome);
  frame.mutable_end()->set_seal_high(seal.high);
  frame.mutable_end()->set_seal_low(seal.low);
  buffer_.clear();
  append_frame(frame, buffer_);
  write_(buffer_);
}

}  // namespace rehearse
