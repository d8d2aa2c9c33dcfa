// Loss accounting of whole threads: written = stored + dropped, exactly.
#include "holds.h"
#include "in_process.h"
#include "shadow_stack.h"
#include "vprof/vprof.h"

namespace vprof {
namespace {

void call(Slot *slot) {
  enter(slot, 1, 0xf000, 0xe000);
  leave(slot, 0xf000, ticks());
}

TEST(Loss, EveryRecordIsStoredOrCounted) {
  on_new_thread([](Slot *slot) {
    const uint64_t calls = 20000, before = slot->ring.committed();
    uint64_t stored = 0, told = 0, overhead = 0;
    const auto drain = [&] {
      for (const Record &r : take_records(slot)) {
        stored += kind_of(r) == Kind::kInvocation;
        overhead += kind_of(r) == Kind::kLost || kind_of(r) == Kind::kCount;
        told += kind_of(r) == Kind::kCount ? r.w1 : 0;
      }
    };
    for (uint64_t i = 0; i < calls; ++i) {
      call(slot);
      if (i % 3000 == 0) drain();
    }
    drain();
    EXPECT_GT(slot->ring.dropped(), 0u);
    EXPECT_EQ(stored + slot->ring.dropped(), calls);
    EXPECT_EQ(told + slot->ring.lost_count(), slot->ring.dropped());
    EXPECT_EQ(slot->ring.committed() - before, stored + overhead);
  });
}

TEST(Loss, IntervalTimesSurviveAFloodOfInvocations) {
  on_new_thread([](Slot *slot) {
    for (uint64_t i = 1; i <= 20; ++i) {
      vprof_interval_begin(i, "flooded");
      for (int k = 0; k < 200; ++k) call(slot);
      vprof_interval_end(i);
    }
    uint64_t begins = 0, ends = 0;
    for (const Record &r : take_records(slot)) {
      begins += kind_of(r) == Kind::kIntervalBegin;
      ends += kind_of(r) == Kind::kIntervalEnd;
    }
    EXPECT_GT(slot->ring.dropped(), 0u);
    EXPECT_EQ(begins, 20u);
    EXPECT_EQ(ends, 20u);
  });
}

// A record written by a handler that interrupts a record is dropped and counted; one that never came back does not
// block.
TEST(Loss, NestedWriterIsCounted) {
  on_new_thread([](Slot *slot) {
    const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    slot->writing.store(here + 4096);  // an active writer above us on the stack
    vprof_on_behalf(1);
    EXPECT_EQ(slot->ring.dropped(), 1u);
    slot->writing.store(here - 65536);  // left by siglongjmp
    vprof_on_behalf(2);
    EXPECT_EQ(slot->ring.dropped(), 1u);
    EXPECT_EQ(take_records(slot).back().w1, 2u);
  });
}

// To learn its number a thread locks a mutex, whose place in the object table may be that of an object others wait for.
TEST(Loss, HoldsAreNotMissedWhileAThreadTakesItsSlot) {
  ASSERT_NE(test_arena(), nullptr);
  std::thread([] {
    t_thread.claiming = true;
    keep_hold(5, 1);
    EXPECT_EQ(end_hold(5).since, 0u);
    EXPECT_EQ(t_thread.missed, 0u);
    EXPECT_EQ(current_slot(), nullptr);
    EXPECT_EQ(t_thread.missed, 1u) << "a record is";
    t_thread.missed = 0;
    t_thread.claiming = false;
  }).join();
}

TEST(Loss, ErrnoIsKept) {
  std::thread([] {
    errno = 77;
    vprof_interval_begin(1, "x");
    vprof_wait_begin(3);
    vprof_wait_end(3);
    vprof_interval_end(1);
    EXPECT_EQ(errno, 77);
  }).join();
}

}  // namespace
}  // namespace vprof
