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
  for (const Record &r : take_records(slot)) exits.push_back({kind_of(r), r.w1 >> 32, aux_of(r)});
  return exits;
}

Exit call(uint64_t site, uint32_t depth) {
  return {Kind::kInvocation, site, depth};
}
Exit abandoned(uint64_t site, uint32_t depth) {
  return {Kind::kAbandoned, site, depth};
}

// A call whose frame variable is at `address`, entered with the stack pointer just below it.
void enter_at(Slot *slot, uint64_t site, uint64_t address) {
  enter(slot, site, address, address - 64);
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
    ASSERT_EQ(sigaltstack(&alt, nullptr), 0);
    const uint64_t below = reinterpret_cast<uint64_t>(memory) + 60000, on_it = below + 65536;
    enter_at(slot, 1, below);
    enter_at(slot, 2, on_it);
    leave(slot, on_it, ticks());
    leave(slot, below, ticks());
    EXPECT_EQ(take_exits(slot), (std::vector{call(2, 1), call(1, 0)}));
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

TEST(ShadowStack, LongCallsKeepTheirFullStart) {
  on_new_thread([](Slot *slot) {
    enter_at(slot, 9, 0xf000);
    const uint64_t start = slot->frames[0].start.load();
    leave(slot, 0xf000, start + 0x1234567890);
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(kind_of(records[0]), Kind::kLongStart);
    EXPECT_EQ(records[0].w1, start);
    EXPECT_EQ(records[1].w1, uint64_t{9} << 32 | kLongDuration);
  });
}

}  // namespace
}  // namespace vprof
