// The shadow stack, driven with made-up frame addresses on a made-up stack that grows down from 0x10000.
#include "shadow_stack.h"

#include <signal.h>

#include "in_process.h"

namespace vprof {
namespace {

struct Exit {
  Kind kind;
  uint64_t site;
  uint32_t depth;
  bool operator==(const Exit &o) const { return kind == o.kind && site == o.site && depth == o.depth; }
};

std::ostream &operator<<(std::ostream &out, const Exit &e) {
  return out << (e.kind == Kind::kInvocation ? "call " : "abandoned ") << e.site << " at depth " << e.depth;
}

std::vector<Exit> take_exits(Slot *slot) {
  std::vector<Exit> exits;
  for (const Record &r : take_records(slot)) exits.push_back({kind_of(r), site_of(r.w1), aux_of(r)});
  return exits;
}

Exit call(uint64_t site, uint32_t depth) {
  return {Kind::kInvocation, site, depth};
}
Exit abandoned(uint64_t site, uint32_t depth) {
  return {Kind::kAbandoned, site, depth};
}

// A call whose frame variable is at `address`, entered with the stack pointer just below it.
uint16_t *enter_at(Slot *slot, uint32_t site, uint64_t address) {
  return enter(slot, site, address, address - 64);
}

TEST(ShadowStack, CallsNest) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 1, 0xf000);
    enter_at(slot, 2, 0xe000);
    leave(slot, 0xe000, ticks());
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(2, 1), call(1, 0)}));
  });
}

TEST(ShadowStack, RecursionKeepsInstancesApart) {
  on_new_thread([](Slot *slot) {
    for (uint64_t d = 0; d < 5; ++d) enter_at(slot, 1, 0xf000 - 0x100 * d);
    for (uint64_t d = 5; d-- > 0;) leave(slot, 0xf000 - 0x100 * d, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(1, 4), call(1, 3), call(1, 2), call(1, 1), call(1, 0)}));
  });
}

TEST(ShadowStack, LongjmpIsNoticedByTheNextEnter) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 1, 0xf000);
    enter_at(slot, 2, 0xd000);
    enter_at(slot, 3, 0xc000);
    enter_at(slot, 4, 0xe000);  // called by 1: the stack pointer is above 2 and 3
    leave(slot, 0xe000, ticks());
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{abandoned(3, 2), abandoned(2, 1), call(4, 1), call(1, 0)}));
  });
}

TEST(ShadowStack, LongjmpIsNoticedByTheLeaveOfTheLandingFunction) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 1, 0xf000);
    enter_at(slot, 2, 0xe000);
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{abandoned(2, 1), call(1, 0)}));
  });
}

TEST(ShadowStack, AReusedFrameAddressMeansTheFormerCallIsGone) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 1, 0xf000);
    enter_at(slot, 2, 0xe000);
    enter_at(slot, 3, 0xe000);
    leave(slot, 0xe000, ticks());
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{abandoned(2, 1), call(3, 1), call(1, 0)}));
  });
}

// Inlining puts caller and callee into one physical frame, in any order.
TEST(ShadowStack, InlinedCalleeAboveItsCallerIsAlive) {
  on_new_thread([](Slot *slot) {
    enter(slot, 1, 0xe010, 0xe000);
    enter(slot, 2, 0xe020, 0xe000);
    leave(slot, 0xe020, ticks());
    leave(slot, 0xe010, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(2, 1), call(1, 0)}));
  });
}

TEST(ShadowStack, LeaveOfACallEnteredWhileOffIsIgnored) {
  on_new_thread([](Slot *slot) {
    leave(slot, 0xe000, ticks());
    enter_at(slot, 1, 0xf000);
    leave(slot, 0xe000, ticks());
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(1, 0)}));
  });
}

// A handler on an alternate stack above the thread's: the interrupted frames lie below it and are alive.
TEST(ShadowStack, FramesInterruptedByAnAlternateStackAreAlive) {
  on_new_thread([](Slot *slot) {
    static char memory[2 * 65536];
    const stack_t alt = {memory + 65536, 0, 65536};
    stack_t before;
    ASSERT_EQ(sigaltstack(&alt, &before), 0);
    const uint64_t below = reinterpret_cast<uint64_t>(memory) + 60000, on_it = below + 65536;
    enter_at(slot, 1, below);
    enter_at(slot, 2, on_it);
    leave(slot, on_it, ticks());
    leave(slot, below, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(2, 1), call(1, 0)}));
    sigaltstack(&before, nullptr);
  });
}

TEST(ShadowStack, CallsDeeperThanTheLimitAreCountedAsDropped) {
  on_new_thread([](Slot *slot) {
    const uint64_t top = 0x1000000;
    const uint32_t deep = kMaxFrames + 100;
    for (uint64_t d = 0; d < deep; ++d) enter_at(slot, 1, top - 0x100 * d);
    const uint64_t before = slot->ring.dropped();
    EXPECT_EQ(before, 100u);
    for (uint64_t d = deep; d-- > kMaxFrames - 10;) leave(slot, top - 0x100 * d, ticks());
    EXPECT_EQ(slot->ring.dropped(), before);
    EXPECT_EQ(slot->depth.load(), kMaxFrames - 10);
    EXPECT_EQ(take_exits(slot).size(), 10u + 2u) << "and the loss";
    abandon_all(slot, ticks());
  });
}

std::vector<uint32_t> take_call_numbers(Slot *slot) {
  std::vector<uint32_t> numbers;
  for (const Record &r : take_records(slot)) numbers.push_back(call_of(r.w1));
  return numbers;
}

TEST(ShadowStack, ACallCarriesTheNumberItsCallerHasStored) {
  on_new_thread([](Slot *slot) {
    uint16_t *number = enter_at(slot, 1, 0xf000);
    EXPECT_EQ(*number, 0u);
    for (const uint16_t place : {0, 1, 1023}) {
      *number = place;
      EXPECT_EQ(*enter_at(slot, kMaxSites - 1, 0xe000), 0u);
      leave(slot, 0xe000, ticks());
    }
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(take_call_numbers(slot), (std::vector<uint32_t>{0, 1, 1023, 0}));
  });
}

TEST(ShadowStack, OnlyTenBitsOfACallNumberCount) {
  on_new_thread([](Slot *slot) {
    *enter_at(slot, 1, 0xf000) = 0xffff;
    enter_at(slot, 2, 0xe000);
    leave(slot, 0xe000, ticks());
    const Record r = take_records(slot).at(0);
    EXPECT_EQ(site_of(r.w1), 2u);
    EXPECT_EQ(call_of(r.w1), kMaxCallNumber);
    leave(slot, 0xf000, ticks());
  });
}

// Neither a return nor an abandoned call leaves its number to the next one at that depth.
TEST(ShadowStack, ACallNumberEndsWithItsCall) {
  on_new_thread([](Slot *slot) {
    *enter_at(slot, 1, 0xf000) = 5;
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(*enter_at(slot, 1, 0xf000), 0u);
    *enter_at(slot, 2, 0xe000) = 6;
    leave(slot, 0xf000, ticks());
    EXPECT_EQ(*enter_at(slot, 1, 0xf000), 0u);
    EXPECT_EQ(*enter_at(slot, 2, 0xe000), 0u);
    abandon_all(slot, ticks());
  });
}

TEST(ShadowStack, ACallThatIsTooDeepHasNoPlaceForANumber) {
  on_new_thread([](Slot *slot) {
    for (uint64_t d = 0; d < kMaxFrames; ++d) EXPECT_NE(enter_at(slot, 1, 0x1000000 - 0x100 * d), nullptr);
    EXPECT_EQ(enter_at(slot, 1, 0x1000000 - 0x100 * kMaxFrames), nullptr);
    abandon_all(slot, ticks());
  });
}

TEST(ShadowStack, LongCallsKeepTheirFullStart) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 9, 0xf000);
    const uint64_t start = slot->frames[0].start.load();
    leave(slot, 0xf000, start + 0x1234567890);
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(kind_of(records[0]), Kind::kLongStart);
    EXPECT_EQ(records[0].w1, start);
    EXPECT_EQ(records[1].w1, call_tag(9, 0) | kLongDuration);
  });
}

}  // namespace
}  // namespace vprof
