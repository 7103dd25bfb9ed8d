#include "sim/trace/event_log.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>

#include "core/comm/collectives.h"
#include "sim/cluster/world.h"
#include "sim/trace/event_digest.h"
#include "tests/sim/trace/records.h"
#include "tests/sim/trace/runs.h"

namespace rehearse {
namespace {

bool is_of_kernel(EventKind kind) { return static_cast<std::uint8_t>(kind) < 64; }

class EventLogOfRuns : public ::testing::TestWithParam<std::vector<std::string>> {};

// One record of a kernel's kind for each event, numbered from 1 without a gap, before all others of that event; time
// never goes back.
TEST_P(EventLogOfRuns, HasOneRecordOfEachEventInOrder) {
  const RecordedRun run = run_capstone(GetParam());
  ASSERT_EQ(run.record.outcome, Outcome::kDone);
  std::uint64_t events = 0;
  std::int64_t time = 0;
  for (const EventRecord& record : run.records) {
    if (is_of_kernel(record.kind)) {
      ++events;
      EXPECT_NE(record.kind, EventKind::kNone);
      EXPECT_TRUE(is_event_kind(static_cast<std::uint32_t>(record.kind)));
    }
    ASSERT_EQ(record.sequence, events);
    ASSERT_GE(record.time.ps(), time);
    time = record.time.ps();
  }
  EXPECT_EQ(events, run.record.events);
  EXPECT_EQ(run.records.size(), run.record.log_records);
  EXPECT_EQ(time, run.record.simulated.ps());
  std::printf("%zu records of %llu events: %s\n", run.records.size(), static_cast<unsigned long long>(events),
              words_of(GetParam()).c_str());
}

TEST_P(EventLogOfRuns, HasTheDigestOfItsRecords) {
  const RecordedRun run = run_capstone(GetParam());
  EventDigest digest;
  for (const EventRecord& record : run.records) digest.on_record(record);
  EXPECT_EQ(digest.finish(), run.record.event_digest);
}

// Messages are as many and as large as the network counted.
TEST_P(EventLogOfRuns, HasEveryMessageOfEveryOperation) {
  const RecordedRun run = run_capstone(GetParam());
  std::map<Operation, std::pair<std::int64_t, std::int64_t>> delivered;  // messages, bytes
  std::int64_t messages = 0;
  for (const EventRecord& record : run.records) {
    if (record.kind != EventKind::kDelivery) continue;
    ++delivered[record.operation].first;
    delivered[record.operation].second += record.size;
    ++messages;
  }
  EXPECT_EQ(messages, run.record.messages);
  for (const CommunicationRow& row : run.record.communication) {
    EXPECT_EQ(delivered[row.operation].first, row.messages) << name_of(row.operation);
    EXPECT_EQ(delivered[row.operation].second, row.bytes.count()) << name_of(row.operation);
    delivered.erase(row.operation);
  }
  EXPECT_TRUE(delivered.empty()) << "an operation that nobody counted";
}

TEST_P(EventLogOfRuns, NobodyListeningChangesNothing) {
  const RecordedRun heard = run_capstone(GetParam());
  const RecordedRun unheard = run_capstone(GetParam(), false);
  EXPECT_TRUE(unheard.records.empty());
  EXPECT_EQ(unheard.record.log_records, 0U);
  EXPECT_EQ(unheard.record.event_digest, "");
  EXPECT_EQ(unheard.record.weights_sha256, heard.record.weights_sha256);
  EXPECT_EQ(unheard.record.events, heard.record.events);
  EXPECT_EQ(unheard.record.simulated, heard.record.simulated);
  ASSERT_EQ(unheard.record.steps.size(), heard.record.steps.size());
  for (std::size_t i = 0; i < heard.record.steps.size(); ++i) {
    EXPECT_EQ(unheard.record.steps[i].parameters, heard.record.steps[i].parameters);
  }
}

// Steps and phases of a rank are those that its last phase record says.
TEST_P(EventLogOfRuns, SaysWhatEachRankWasDoing) {
  const RecordedRun run = run_capstone(GetParam());
  std::map<int, std::pair<std::int64_t, Phase>> doing;
  for (const EventRecord& record : run.records) {
    if (record.rank < 0) {
      EXPECT_EQ(record.step, 0);
      continue;
    }
    if (record.kind == EventKind::kPhase) doing[record.rank] = {record.step, record.phase};
    ASSERT_EQ(std::pair(record.step, record.phase), doing[record.rank]) << "event " << record.sequence;
  }
  for (int rank = 0; rank < run.scenario.ranks; ++rank) {
    EXPECT_EQ(doing[rank], (std::pair<std::int64_t, Phase>(3, Phase::kEnd)));
  }
}

INSTANTIATE_TEST_SUITE_P(Various, EventLogOfRuns, ::testing::ValuesIn(kVariousRuns));

// Every rank's own counters, not only their sum.

Task<> talks(RankContext& context) {
  ProcessGroup world = ProcessGroup::world(context);
  Buffer buffer(&context.memory(), MemoryKind::kGradients, DType::kFloat32, 16 * context.comm().world_size() + 3);
  const BufferView view(buffer);
  for (int round = 0; round < 3; ++round) {
    co_await broadcast(world, view, round);
    co_await all_reduce(world, view);
    co_await barrier(world);
  }
}

TEST(EventLog, DeliveriesAgreeWithEveryRanksCounters) {
  int compared = 0;
  for (int ranks = 3; ranks <= 9; ++ranks) {
    WorldConfig config;
    config.ranks = ranks;
    config.network.latency = Duration::microseconds(5);
    config.network.bandwidth = Bandwidth::bits_per_second(100'000'000'000);
    config.device.rate = FlopRate::per_second(1'000'000'000'000);
    World world(config);
    EventLog log(world.kernel(), ranks);
    RecordList list;
    log.add(&list);
    world.kernel().set_listener(&log);
    world.start_all([](RankContext& context) { return talks(context); });
    ASSERT_EQ(world.run(), RunEnd::kDone);
    std::map<std::pair<int, Operation>, std::pair<std::int64_t, std::int64_t>> received;
    std::map<std::pair<int, Operation>, std::pair<std::int64_t, std::int64_t>> sent;
    for (const EventRecord& record : list.records) {
      if (record.kind != EventKind::kDelivery) continue;
      for (auto* side : {&received[{record.rank, record.operation}], &sent[{record.peer, record.operation}]}) {
        ++side->first;
        side->second += record.size;
      }
    }
    for (int rank = 0; rank < ranks; ++rank) {
      for (int o = 0; o < kOperations; ++o) {
        const auto operation = static_cast<Operation>(o);
        const TrafficCounters& counters = world.network().counters(rank, operation);
        const auto& in = received[{rank, operation}];
        const auto& out = sent[{rank, operation}];
        EXPECT_EQ(in.first, counters.messages_received) << rank << " " << name_of(operation);
        EXPECT_EQ(in.second, counters.bytes_received.count()) << rank << " " << name_of(operation);
        EXPECT_EQ(out.first, counters.messages_sent) << rank << " " << name_of(operation);
        EXPECT_EQ(out.second, counters.bytes_sent.count()) << rank << " " << name_of(operation);
        compared += in.first > 0 ? 1 : 0;
      }
    }
  }
  std::printf("%d counters of ranks and operations with messages\n", compared);
  EXPECT_GT(compared, 0);
}

// By itself.

TEST(EventLog, AddsWhatTheRankIsDoing) {
  Kernel kernel;
  EventLog log(kernel, 2);
  RecordList list;
  log.add(&list);
  kernel.set_listener(&log);
  log.enter(1, 7, Phase::kReduce);
  EventRecord record(EventKind::kDevice);
  record.rank = 1;
  log.on_record(record);
  record.rank = 0;
  log.on_record(record);
  record.rank = -1;
  log.on_record(record);
  ASSERT_EQ(list.records.size(), 4U);
  EXPECT_EQ(list.records[0].kind, EventKind::kPhase);
  EXPECT_EQ(list.records[0].rank, 1);
  EXPECT_EQ(list.records[0].phase, Phase::kReduce);
  EXPECT_EQ(list.records[0].step, 7);
  EXPECT_EQ(list.records[1].phase, Phase::kReduce);
  EXPECT_EQ(list.records[1].step, 7);
  EXPECT_EQ(list.records[2].phase, Phase::kStart);
  EXPECT_EQ(list.records[2].step, 0);
  EXPECT_EQ(list.records[3].phase, Phase::kStart) << "of no rank";
}

TEST(EventLog, RemembersPhasesThoughNobodyListens) {
  Kernel kernel;
  EventLog log(kernel, 1);
  log.enter(0, 7, Phase::kReduce);
  EXPECT_EQ(log.doing(0).step, 7);
  EXPECT_EQ(log.doing(0).phase, Phase::kReduce);
}

TEST(EventLog, TellsAllItsConsumersTheSame) {
  Kernel kernel;
  EventLog log(kernel, 4);
  RecordList first;
  RecordList second;
  log.add(&first);
  log.add(&second);
  for (const EventRecord& record : likely_records(20)) log.on_record(record);
  EXPECT_EQ(first.records.size(), 20U);
  EXPECT_EQ(first.records, second.records);
}

}  // namespace
}  // namespace rehearse
