#include "ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace vprof {
namespace {

constexpr uint64_t kCapacity = 256;

struct RingWithRecords {
  Ring ring;
  Record records[kCapacity];
  uint64_t taken = 0;

  Records place() { return {records, kCapacity}; }
  bool push(const Record *event, unsigned n, Space space, uint64_t now) {
    return ring.push(place(), event, n, space, now);
  }
  Ring::Span peek() { return ring.peek(place(), taken); }
  void consume(uint64_t n) { ring.consume_to(taken += n); }
};

std::unique_ptr<RingWithRecords> make_ring() {
  auto r = std::make_unique<RingWithRecords>();
  r->ring.reset();
  return r;
}

Record numbered(uint64_t n) {
  return make_record(Kind::kEnqueue, n, 0, n);
}

std::vector<Record> take_all(RingWithRecords &r) {
  const Ring::Span span = r.peek();
  std::vector<Record> records;
  for (int i = 0; i < 2; ++i) records.insert(records.end(), span.first[i], span.first[i] + span.count[i]);
  r.consume(span.total());
  return records;
}

TEST(Ring, KeepsOrderAcrossTheWrap) {
  auto r = make_ring();
  uint64_t next = 0;
  for (uint64_t written = 0; written < 10 * kCapacity;) {
    for (int i = 0; i < 100; ++i, ++written) {
      const Record record = numbered(written);
      ASSERT_TRUE(r->push(&record, 1, Space::kNormal, written));
    }
    for (const Record &record : take_all(*r)) ASSERT_EQ(record.w1, next++);
  }
  EXPECT_EQ(next, r->ring.committed());
  EXPECT_EQ(r->ring.dropped(), 0u);
}

TEST(Ring, ReserveTakesIntervalsWhenInvocationsAreDropped) {
  auto r = make_ring();
  uint64_t stored = 0;
  for (uint64_t i = 0; i < 2 * kCapacity; ++i) {
    const Record record = numbered(i);
    stored += r->push(&record, 1, Space::kNormal, i);
  }
  EXPECT_EQ(stored, kCapacity - kCapacity / 16);
  const Record interval = make_record(Kind::kIntervalEnd, 1, 0, 1);
  uint64_t intervals = 0;
  while (r->push(&interval, 1, Space::kReserved, 9999)) ++intervals;
  EXPECT_EQ(intervals, kCapacity / 16);
  EXPECT_EQ(take_all(*r).size(), kCapacity);
}

TEST(Ring, TellsALossOnceThereIsRoom) {
  auto r = make_ring();
  for (uint64_t i = 0; i < kCapacity; ++i) {
    const Record record = numbered(i);
    r->push(&record, 1, Space::kNormal, i);
  }
  const uint64_t dropped = r->ring.dropped();
  EXPECT_EQ(dropped, kCapacity / 16);
  take_all(*r);
  const Record record = numbered(1);
  ASSERT_TRUE(r->push(&record, 1, Space::kNormal, 777));
  const std::vector<Record> after = take_all(*r);
  ASSERT_EQ(after.size(), 3u);
  EXPECT_EQ(kind_of(after[0]), Kind::kLost);
  EXPECT_EQ(after[0].w0 & kTimeMask, 777u);
  EXPECT_EQ(after[0].w1, kCapacity - kCapacity / 16) << "the first lost record's time";
  EXPECT_EQ(kind_of(after[1]), Kind::kCount);
  EXPECT_EQ(after[1].w1, dropped);
}

TEST(Ring, AnOverwrittenTailYieldsNothing) {
  auto r = make_ring();
  *reinterpret_cast<uint64_t *>(&r->ring) = 1u << 30;  // a stray write of the host program
  EXPECT_EQ(r->peek().total(), 0u);
}

// Two threads, random event sizes and pauses: every event arrives whole and in order or is counted in a LOST record.
TEST(Ring, ConcurrentUseLosesNothingUncounted) {
  auto r = make_ring();
  constexpr uint64_t kEvents = 200000;
  uint64_t wanted = 0;
  std::atomic<bool> done{false};
  std::thread producer([&] {
    std::mt19937 random(1);
    for (uint64_t i = 1; i <= kEvents; ++i) {
      const unsigned n = 1 + random() % 3;
      const Record event[3] = {numbered(i), make_record(Kind::kObject, 0, 0, i), make_record(Kind::kPeer, 0, n, i)};
      r->push(event, n, random() % 8 == 0 ? Space::kReserved : Space::kNormal, i);
      wanted += n;
      if (random() % 1000 == 0) std::this_thread::yield();
    }
    r->ring.flush_loss(r->place(), kEvents + 1);
    done = true;
  });
  uint64_t events = 0, last = 0, follow = 0, lost = 0, overhead = 0;
  for (bool finished = false; !finished;) {
    finished = done;
    for (const Record &record : take_all(*r)) {
      if (kind_of(record) == Kind::kLost || kind_of(record) == Kind::kCount) {
        lost += kind_of(record) == Kind::kCount ? record.w1 : 0;
        ++overhead;
      } else if (kind_of(record) == Kind::kEnqueue) {
        ASSERT_GT(record.w1, last);
        last = record.w1;
        ++events;
      } else {
        ASSERT_EQ(record.w1, last) << "a piece of another event";
        ++follow;
      }
    }
  }
  producer.join();
  EXPECT_EQ(events + follow + lost + r->ring.lost_count(), wanted);
  EXPECT_EQ(r->ring.committed() + r->ring.dropped(), wanted + overhead);
}

}  // namespace
}  // namespace vprof
