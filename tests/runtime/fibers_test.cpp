// Fibers, with made-up stacks: the thread stays on its own, as it does between the switch of the state and that of the
// stack pointer.
#include "fibers.h"

#include "in_process.h"
#include "shadow_stack.h"

namespace vprof {
namespace {

constexpr Stack kFirst = {0x20000, 0x30000}, kSecond = {0x30000, 0x40000};

std::vector<Kind> take_kinds(Slot *slot) {
  std::vector<Kind> kinds;
  for (const Record &r : take_records(slot)) kinds.push_back(kind_of(r));
  return kinds;
}

const std::vector<Kind> kMade = {Kind::kCreated, Kind::kPeer, Kind::kBlocked, Kind::kObject, Kind::kPeer};
const std::vector<Kind> kResumed = {Kind::kBlocked, Kind::kObject, Kind::kPeer};

// Runs `body` with the slot and an address of its stack; the thread's own flow runs again afterwards.
void with_own_stack(const std::function<void(Slot *, uint64_t)> &body) {
  on_new_thread([&](Slot *slot) {
    const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    t_stack = {here - (1 << 16), here + (1 << 12)};
    body(slot, here);
    if (is_in_fiber()) go_to(here);
  });
}

TEST(Fibers, AFiberHasASlotOfItsOwnAndWaitsForItsTurn) {
  with_own_stack([](Slot *own, uint64_t here) {
    begin_fiber(kFirst);
    enter(own, 1, here, here - 8);
    go_to(0x28000);
    Slot *fiber = t_thread.slot;
    ASSERT_NE(fiber, nullptr);
    ASSERT_NE(fiber, own);
    EXPECT_EQ(fiber->fiber, 1u);
    const std::vector<Record> first = take_records(fiber);
    ASSERT_EQ(first.size(), kMade.size());
    EXPECT_EQ(first[1].w1, own->uid);
    EXPECT_EQ(first[4].w1, own->uid);
    EXPECT_EQ(aux_of(first[2]), static_cast<uint32_t>(ObjectClass::kFiber));
    enter(fiber, 2, 0x27000, 0x26ff0);
    EXPECT_EQ(fiber->depth.load(), 1u);

    go_to(here - 64);
    EXPECT_EQ(t_thread.slot, own);
    EXPECT_EQ(own->depth.load(), 1u) << "the thread's open call is its own";
    const std::vector<Record> back = take_records(own);
    ASSERT_EQ(back.size(), kResumed.size());
    EXPECT_EQ(back[2].w1, fiber->uid);

    go_to(0x27800);
    EXPECT_EQ(t_thread.slot, fiber);
    EXPECT_EQ(fiber->depth.load(), 1u);
    leave(fiber, 0x27000, ticks());
    EXPECT_EQ(take_kinds(fiber), (std::vector{Kind::kBlocked, Kind::kObject, Kind::kPeer, Kind::kInvocation}));
    EXPECT_EQ(own->strayed.load() | fiber->strayed.load(), 0u);
  });
}

TEST(Fibers, AJumpOnTheSameStackIsNoSwitch) {
  with_own_stack([](Slot *own, uint64_t here) {
    begin_fiber(kFirst);
    enter(own, 1, here - 0x1000, here - 0x1010);
    go_to(here - 0x100);
    EXPECT_EQ(t_thread.slot, own);
    EXPECT_EQ(take_kinds(own), std::vector{Kind::kAbandoned});
  });
}

TEST(Fibers, OneThatEndsGivesItsSlotBackAndWakesTheNext) {
  with_own_stack([](Slot *own, uint64_t here) {
    begin_fiber(kFirst);
    go_to(0x28000);
    Slot *fiber = t_thread.slot;
    const uint32_t uid = fiber->uid;
    enter(fiber, 2, 0x27000, 0x26ff0);
    finish_fiber(here);
    EXPECT_EQ(owner_state(fiber->owner.load()), SlotState::kEnded);
    EXPECT_EQ(fiber->depth.load(), 0u);
    EXPECT_EQ(t_thread.slot, own);
    EXPECT_EQ(take_records(own).at(2).w1, uid);
  });
}

TEST(Fibers, WhereOneWasNobodyIs) {
  with_own_stack([](Slot *own, uint64_t here) {
    begin_fiber(kFirst);
    begin_fiber(kSecond);
    for (const uint64_t stack_pointer : {0x28000, 0x38000}) {
      go_to(stack_pointer);
      EXPECT_NE(t_thread.slot, own);
      finish_fiber(here);
      EXPECT_EQ(t_thread.slot, own);
    }
  });
}

TEST(Fibers, AStackThatIsUsedAgainEndsWhatWasThere) {
  with_own_stack([](Slot *own, uint64_t here) {
    begin_fiber(kFirst);
    go_to(0x28000);
    Slot *fiber = t_thread.slot;
    enter(fiber, 2, 0x27000, 0x26ff0);
    go_to(here);
    take_records(fiber);
    begin_fiber({kFirst.low + 16, kFirst.high + 16});
    EXPECT_EQ(owner_state(fiber->owner.load()), SlotState::kEnded);
    EXPECT_EQ(take_kinds(fiber), std::vector{Kind::kAbandoned});
    EXPECT_EQ(t_thread.slot, own);
  });
}

TEST(Fibers, AStackWithinAnotherIsAFibersOfItsOwn) {
  with_own_stack([](Slot *, uint64_t) {
    begin_fiber(kFirst);
    go_to(0x28000);
    Slot *outer = t_thread.slot;
    begin_fiber({0x22000, 0x23000});
    go_to(0x22800);
    Slot *inner = t_thread.slot;
    EXPECT_NE(inner, outer);
    go_to(0x28000);
    EXPECT_EQ(t_thread.slot, outer);
  });
}

TEST(Fibers, OnAStackThatNobodyKnowsNothingIsRecordedAndThatIsTold) {
  with_own_stack([](Slot *own, uint64_t here) {
    go_to(0x990000);
    EXPECT_EQ(current_slot(), nullptr);
    EXPECT_NE(own->strayed.load(), 0u);
    go_to(here);
    EXPECT_EQ(t_thread.slot, own);
  });
}

TEST(Fibers, AFlowRunsOnOneThreadAtATime) {
  with_own_stack([](Slot *, uint64_t) {
    begin_fiber(kSecond);
    go_to(0x38000);
    ASSERT_NE(t_thread.slot, nullptr);
    with_own_stack([](Slot *other, uint64_t) {
      go_to(0x38000);
      EXPECT_EQ(current_slot(), nullptr);
      EXPECT_NE(other->strayed.load(), 0u);
    });
  });
}

TEST(Fibers, AThreadThatEndsInAFiberEndsBoth) {
  Slot *own = nullptr, *fiber = nullptr;
  on_new_thread([&](Slot *slot) {
    own = slot;
    const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    t_stack = {here - (1 << 16), here + (1 << 12)};
    begin_fiber(kFirst);
    go_to(0x28000);
    fiber = t_thread.slot;
  });
  EXPECT_EQ(owner_state(own->owner.load()), SlotState::kEnded);
  EXPECT_EQ(owner_state(fiber->owner.load()), SlotState::kEnded);
}

TEST(Stacks, CallsOfTwoStacksAreNoticedWhereTheirOrderBreaks) {
  on_new_thread([](Slot *slot) {
    t_stack = {0x1000, 0x10000};
    enter(slot, 1, 0xf000, 0xeff0);
    enter(slot, 2, 0x800, 0x7f0);  // below: as a callee
    EXPECT_EQ(slot->strayed.load(), 0u);
    leave(slot, 0xf000, ticks());
    EXPECT_NE(slot->strayed.load(), 0u);
  });
  on_new_thread([](Slot *slot) {
    t_stack = {0x1000, 0x10000};
    enter(slot, 1, 0xf000, 0xeff0);
    enter(slot, 2, 0x55000, 0x54ff0);  // above
    EXPECT_NE(slot->strayed.load(), 0u);
  });
}

TEST(Stacks, JumpsOnAStackAreNone) {
  on_new_thread([](Slot *slot) {
    t_stack = {0x1000, 0x10000};
    enter(slot, 1, 0xf000, 0xeff0);
    enter(slot, 2, 0xe000, 0xdff0);
    enter(slot, 3, 0xd000, 0xcff0);
    leave(slot, 0xf000, ticks());
    enter(slot, 1, 0x5000, 0x4ff0);
    enter(slot, 1, 0x6000, 0x5ff0);
    EXPECT_EQ(slot->strayed.load(), 0u);
  });
}

}  // namespace
}  // namespace vprof
