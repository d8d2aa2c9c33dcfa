// The functions of vprof/vprof.h: the records they write, and the calls that write none.
#include <time.h>

#include <algorithm>

#include "in_process.h"
#include "mappings.h"
#include "named_waits.h"
#include "sync.h"
#include "vprof/vprof.h"

namespace vprof {
namespace {

std::string label(uint32_t number) {
  const char *text = test_arena()->labels.text(number);
  return text != nullptr ? text : "";
}

TEST(Annotations, AnIntervalMayGetItsTypeAtItsEnd) {
  on_new_thread([](Slot *slot) {
    vprof_interval_begin(1, "read");
    vprof_interval_end_typed(1, "write");
    vprof_interval_begin(2, nullptr);
    vprof_interval_end_typed(2, nullptr);
    vprof_interval_abort(3);
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 5u);
    EXPECT_EQ(label(aux_of(records[0])), "read");
    EXPECT_EQ(kind_of(records[1]), Kind::kIntervalEnd);
    EXPECT_EQ(aux_of(records[1]) & 1, 0u);
    EXPECT_EQ(label(aux_of(records[1]) >> 1), "write");
    EXPECT_EQ(aux_of(records[3]), 0u);
    EXPECT_EQ(aux_of(records[4]), 1u);
  });
}

TEST(Annotations, IntervalZeroIsNone) {
  on_new_thread([](Slot *slot) {
    vprof_interval_begin(0, "none");
    vprof_interval_end(0);
    vprof_interval_end_typed(0, "none");
    vprof_interval_abort(0);
    EXPECT_EQ(take_records(slot).size(), 0u);
    vprof_on_behalf(0);
    EXPECT_EQ(kind_of(take_records(slot).at(0)), Kind::kOnBehalf);
  });
}

int64_t told_age(Slot *slot, uint64_t created_ns, int clock) {
  vprof_interval_begin_created(1, "read", created_ns, clock);
  const std::vector<Record> records = take_records(slot);
  EXPECT_EQ(records.size(), 2u);
  EXPECT_EQ(kind_of(records.at(0)), Kind::kIntervalBegin);
  EXPECT_EQ(label(aux_of(records.at(0))), "read");
  EXPECT_EQ(kind_of(records.at(1)), Kind::kObject);
  return static_cast<int64_t>(records.at(1).w1);
}

uint64_t now_ns(int clock) {
  timespec t;
  EXPECT_EQ(clock_gettime(clock, &t), 0);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// Of CLOCK_MONOTONIC nothing is older than the machine's start, which may have been seconds ago.
TEST(Annotations, ABeginTellsHowLongAgoTheRequestWasCreated) {
  on_new_thread([](Slot *slot) {
    for (const int clock : {CLOCK_REALTIME, CLOCK_MONOTONIC}) {
      const uint64_t now = now_ns(clock), age = std::min<uint64_t>(now / 2, 60'000'000'000);
      const double expected = static_cast<double>(age);
      EXPECT_NEAR(static_cast<double>(told_age(slot, now - age, clock)), expected, 10e9);
      EXPECT_NEAR(static_cast<double>(told_age(slot, now + age, clock)), -expected, 10e9);
      EXPECT_NEAR(static_cast<double>(told_age(slot, 1, clock)), static_cast<double>(now), 10e9);
      EXPECT_EQ(told_age(slot, 0, clock), kNotCreated);
    }
    EXPECT_EQ(told_age(slot, 1, -1), kNotCreated);
    vprof_interval_begin_created(0, "none", 1, CLOCK_MONOTONIC);
    EXPECT_EQ(take_records(slot).size(), 0u);
  });
}

// What programs write for "never" must not become an age that a reader believes, however long the machine has been up.
TEST(Annotations, ATimeThatNoClockReachesIsInTheFuture) {
  on_new_thread([](Slot *slot) {
    for (const int clock : {CLOCK_REALTIME, CLOCK_MONOTONIC})
      for (const uint64_t never : {UINT64_MAX, UINT64_MAX - now_ns(clock), uint64_t{1} << 63, uint64_t{INT64_MAX}}) {
        EXPECT_LT(told_age(slot, never, clock), 0) << never;
        EXPECT_NE(told_age(slot, never, clock), kNotCreated) << never;
      }
  });
}

TEST(Annotations, NamesArePrivateToTheProcessSharedOrPlainNumbers) {
  ASSERT_NE(test_arena(), nullptr);
  static char mine, ours[8];
  const auto value = [](const void *p) { return reinterpret_cast<uint64_t>(p); };
  g_mappings.enter(value(ours), sizeof ours, 1000);
  const uint64_t private_name = described_id(value(&mine));
  EXPECT_EQ(described_id(value(&ours[3])), 1003u);
  EXPECT_EQ(described_id(42), 42u);
  EXPECT_EQ(described_id(uint64_t{1} << 63 | 42), uint64_t{1} << 63 | 42);
  const uint32_t pid = g_session.pid;
  g_session.pid = pid + 1;  // as in another process
  EXPECT_NE(described_id(value(&mine)), private_name);
  EXPECT_EQ(described_id(value(&ours[3])), 1003u);
  g_session.pid = pid;
  g_mappings.forget(value(ours), sizeof ours);
}

TEST(Annotations, StepsOfLocksAreWrittenOnlyWhileTheyAreWanted) {
  on_new_thread([](Slot *slot) {
    vprof_lock(VPROF_LOCK_REQUEST, 42, 1, 7);
    g_session.lock_events = true;
    vprof_lock(VPROF_LOCK_REQUEST, 42, 1, 7);
    vprof_lock(VPROF_LOCK_GRANT, 42, -1, 0);
    vprof_lock(VPROF_LOCK_RELEASE, 0, -1, 0);  // of nothing
    vprof_lock(VPROF_LOCK_RELEASE_ALL, 0, -1, 0);
    vprof_lock(4, 42, -1, 0);  // no step
    g_session.lock_events = false;
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 6u);
    const uint32_t steps[] = {lock_aux(0, 2), lock_aux(1, 0), lock_aux(kLockReleaseAll, 0)};
    const uint64_t owners[] = {7, 0, 0}, objects[] = {42, 42, 0};
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(kind_of(records[2 * i]), Kind::kExtended);
      EXPECT_EQ(aux_of(records[2 * i]), steps[i]);
      EXPECT_EQ(records[2 * i].w1, owners[i]);
      EXPECT_EQ(kind_of(records[2 * i + 1]), Kind::kObject);
      EXPECT_EQ(records[2 * i + 1].w1, objects[i]);
    }
  });
}

// A function that waits may be left by longjmp, so its wait never ends; later waits are recorded all the same.
TEST(Annotations, WaitsWithoutAnEndDoNotBlockLaterOnes) {
  on_new_thread([](Slot *slot) {
    for (uint64_t object = 1; object <= 20; ++object) vprof_wait_begin(object);
    vprof_wait_begin(77);
    std::thread([] {
      vprof_wake(77);
      vprof_wake_done(77);
    }).join();
    take_records(slot);
    vprof_wait_end(77);
    EXPECT_EQ(kind_of(take_records(slot).at(0)), Kind::kBlocked);
  });
}

// Waits for the object until another thread has woken it; how many records that wrote.
size_t wait_for(Slot *slot, uint64_t object) {
  vprof_wait_begin(object);
  std::thread([object] {
    vprof_wake(object);
    vprof_wake_done(object);
  }).join();
  vprof_wait_end(object);
  return take_records(slot).size();
}

std::string name_of(Record r) {
  EXPECT_EQ(kind_of(r), Kind::kExtended);
  EXPECT_EQ(aux_of(r), kNamed);
  const char *text = test_arena()->names.text(r.w1 & ((1u << kNameNumberBits) - 1));
  return text != nullptr ? text : "";
}

TEST(Annotations, AWaitGetsItsNameWhenItIsOver) {
  on_new_thread([](Slot *slot) {
    const uint64_t before = vprof_waits(), now = ticks();
    EXPECT_EQ(vprof_unnamed_since(before), 0);
    vprof_name_waits(before, "nothing");
    ASSERT_EQ(wait_for(slot, 77), 3u);
    EXPECT_EQ(vprof_unnamed_since(before), 1);
    vprof_name_waits(before, vprof_text("row %u of %s", 7u, "accounts"));
    EXPECT_EQ(vprof_unnamed_since(before), 0);
    vprof_name_waits(before, "too late");
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(name_of(records[0]), "row 7 of accounts");
    EXPECT_GE(records[0].w1 >> kNameNumberBits, now & kTimeMask) << "the begin of the wait";
    EXPECT_LE(records[0].w1 >> kNameNumberBits, ticks() & kTimeMask);
  });
}

TEST(Annotations, AWaitThatLeavesNoRecordHasNoName) {
  on_new_thread([](Slot *slot) {
    const uint64_t before = vprof_waits();
    vprof_wait_begin(78);
    vprof_wait_end(78);
    EXPECT_EQ(vprof_unnamed_since(before), 0);
    EXPECT_EQ(take_records(slot).size(), 0u);
  });
}

TEST(Annotations, AnOuterCallNamesWhatInnerOnesLeft) {
  on_new_thread([](Slot *slot) {
    const uint64_t outer = vprof_waits();
    wait_for(slot, 79);
    const uint64_t inner = vprof_waits();
    wait_for(slot, 80);
    vprof_name_waits(inner, nullptr);
    EXPECT_EQ(vprof_unnamed_since(inner), 1) << "null is no name";
    vprof_name_waits(inner, "inner");
    EXPECT_EQ(vprof_unnamed_since(inner), 0);
    EXPECT_EQ(vprof_unnamed_since(outer), 1);
    vprof_name_waits(outer, "outer");
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(name_of(records[0]), "inner");
    EXPECT_EQ(name_of(records[1]), "outer");
    EXPECT_LT(records[1].w1 >> kNameNumberBits, records[0].w1 >> kNameNumberBits);
  });
}

TEST(Annotations, OfManyWaitsTheLatestGetTheName) {
  on_new_thread([](Slot *slot) {
    const uint64_t before = vprof_waits();
    uint64_t began = 0;
    for (uint64_t i = 0; i < 2 * NamedWaits::kKept; ++i) {
      if (i == NamedWaits::kKept) began = ticks();
      wait_for(slot, 81);
    }
    vprof_name_waits(before, "latest");
    EXPECT_EQ(vprof_unnamed_since(before), 0);
    EXPECT_GE(take_records(slot).at(0).w1 >> kNameNumberBits, began & kTimeMask);
  });
}

TEST(Annotations, ATextOfANameIsCutAt63Bytes) {
  EXPECT_EQ(std::string(vprof_text("%s", std::string(100, 'x').c_str())), std::string(63, 'x'));
}

}  // namespace
}  // namespace vprof
