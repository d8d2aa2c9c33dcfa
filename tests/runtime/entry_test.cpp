// __vprof_enter and __vprof_leave as a probed function sees them (PROBE_ABI.md "Calls"): all registers but few are kept
// on every path, whoever served the call.
#include "in_process.h"
#include "registers.h"
#include "shadow_stack.h"

extern "C" {
uint16_t *__vprof_enter(uint32_t site, void *frame);
void __vprof_enter_site();
void __vprof_leave(void *frame);
void __vprof_leave_frame();
}

namespace vprof {
namespace {

template <typename F>
uint64_t call_keeping_registers(F *function, int first_kept, const arguments &arguments, int result = 0) {
  uint64_t registers[2][REGISTERS];
  fill_registers(registers[0], arguments);
  call_with_registers(reinterpret_cast<void (*)()>(function), registers);
  for (int i = first_kept; i < REGISTERS; ++i) EXPECT_EQ(registers[0][i], registers[1][i]) << register_names[i];
  EXPECT_TRUE(vectors_are_kept());
  return registers[1][result];
}

// Both ways in must do the same.
uint64_t enter_by_either(uint32_t site, void *frame) {
  const uint64_t address = reinterpret_cast<uint64_t>(frame);
  if (site % 2 == 0)
    return call_keeping_registers(__vprof_enter, BY_C.kept_by_enter, {7, 7, site, address}, BY_C.result);
  return call_keeping_registers(__vprof_enter_site, BY_PROBE.kept_by_enter, {site, address, 7, 7}, BY_PROBE.result);
}

// `at` is where the calls of the frame are numbered.
void enter_checked(uint32_t site, void *frame, const void *at) {
  EXPECT_EQ(enter_by_either(site, frame), reinterpret_cast<uint64_t>(at));
}

void leave_checked(void *frame) {
  const uint64_t address = reinterpret_cast<uint64_t>(frame);
  if (address % 16 == 0)
    call_keeping_registers(__vprof_leave, BY_C.kept_by_leave, {0x1234, 7, address, 7});
  else
    call_keeping_registers(__vprof_leave_frame, BY_PROBE.kept_by_leave, {0x1234, address, 7, 7});
}

struct Call {
  uint32_t site;
  uint32_t depth;
  Kind kind;
  bool operator==(const Call &o) const { return site == o.site && depth == o.depth && kind == o.kind; }
};

std::vector<Call> take_calls(Slot *slot) {
  std::vector<Call> calls;
  for (const Record &r : take_records(slot)) calls.push_back({site_of(r.w1), aux_of(r), kind_of(r)});
  return calls;
}

TEST(Entry, UsualCallsKeepTheRegisters) {
  on_new_thread([](Slot *slot) {
    uint64_t frames[3];  // callees lie lower
    for (uint32_t i = 0; i < 3; ++i) enter_checked(70 + i, &frames[2 - i], t_thread.calls + i);
    for (uint32_t i = 0; i < 3; ++i) leave_checked(&frames[i]);
    EXPECT_EQ(take_calls(slot),
              (std::vector<Call>{{72, 2, Kind::kInvocation}, {71, 1, Kind::kInvocation}, {70, 0, Kind::kInvocation}}));
    EXPECT_EQ(slot->writing.load(), 0u);
  });
}

TEST(Entry, AThreadsFirstCallKeepsTheRegisters) {
  ASSERT_NE(test_arena(), nullptr);
  for (const uint32_t site : {70u, 71u})
    std::thread([site] {
      uint64_t frame;
      leave_checked(&frame);
      EXPECT_EQ(t_thread.slot, nullptr) << "a leave claims no slot";
      enter_by_either(site, &frame);
      Slot *slot = t_thread.slot;
      ASSERT_NE(slot, nullptr);
      leave_checked(&frame);
      EXPECT_EQ(take_calls(slot).back(), (Call{site, 0, Kind::kInvocation}));
    }).join();
}

TEST(Entry, DeadAndUnknownFramesKeepTheRegisters) {
  on_new_thread([](Slot *slot) {
    uint64_t frames[3];
    enter_checked(70, &frames[1], t_thread.calls);
    enter_checked(71, &frames[1], t_thread.calls);  // site 70 was left by longjmp
    leave_checked(&frames[2]);                      // entered while its probe was off
    leave_checked(&frames[1]);
    leave_checked(&frames[1]);  // no open frame
    EXPECT_EQ(take_calls(slot), (std::vector<Call>{{70, 0, Kind::kAbandoned}, {71, 0, Kind::kInvocation}}));
  });
}

TEST(Entry, CallsThatAreTooDeepKeepTheRegisters) {
  on_new_thread([](Slot *slot) {
    std::vector<uint64_t> frames(kMaxFrames + 1);
    for (uint32_t d = 0; d < kMaxFrames; ++d) enter_checked(70, &frames[kMaxFrames - d], t_thread.calls + d);
    enter_checked(71, &frames[0], &frames[0]);
    leave_checked(&frames[0]);
    EXPECT_EQ(slot->ring.dropped(), 1u);
    for (uint32_t d = kMaxFrames; d-- > 0;) leave_checked(&frames[kMaxFrames - d]);
    EXPECT_EQ(slot->depth.load(), 0u);
  });
}

// Another process of the session may have written any depth: no frame and no call number beyond the stack is touched.
TEST(Entry, AnOverwrittenDepthIsNoIndex) {
  on_new_thread([](Slot *slot) {
    const uint16_t *behind = t_thread.calls + kMaxFrames;  // of the next slot
    const std::vector<uint16_t> before(behind, behind + kMaxFrames);
    uint64_t frames[2];
    for (const uint32_t depth : {kMaxFrames, kMaxFrames + 1, 2 * kMaxFrames, 1u << 31, ~0u}) {
      slot->depth.store(depth);
      enter_by_either(70, &frames[1]);
      slot->depth.store(depth);
      look_before_top(slot);
      slot->depth.store(depth);
      leave_checked(&frames[1]);
      slot->depth.store(depth);
      leave_for(slot, ~uint64_t{0}, ticks());
    }
    slot->depth.store(0);
    look_before_top(slot);
    EXPECT_EQ(before, std::vector<uint16_t>(behind, behind + kMaxFrames));
  });
}

TEST(Entry, AFullRingKeepsTheRegisters) {
  on_new_thread([](Slot *slot) {
    uint64_t frame;
    const uint64_t capacity = records_of(slot).capacity;
    for (uint64_t i = 0; i < capacity; ++i) {
      enter_checked(70, &frame, t_thread.calls);
      leave_checked(&frame);
    }
    EXPECT_GT(slot->ring.dropped(), 0u);
    EXPECT_EQ(slot->ring.committed() + slot->ring.dropped(), capacity);
    EXPECT_EQ(slot->writing.load(), 0u);
    EXPECT_EQ(slot->depth.load(), 0u);
  });
}

// Each call looks at what the kernel has done meanwhile: the word is a thread variable here that is always 0.
static uint64_t thread_cpu_ns() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

TEST(Entry, LooksAtTimeOffTheCpuKeepTheRegisters) {
  static __thread uint64_t word __attribute__((tls_model("initial-exec")));
  on_new_thread([](Slot *slot) {
    uint64_t frames[2];
    vprof_switch_word = reinterpret_cast<char *>(&word) - thread_pointer();
    for (uint32_t i = 0; i < 2; ++i, word = 0) enter_checked(70 + i, &frames[1 - i], t_thread.calls + i);
    const uint64_t sleep_began = ticks(), cpu_before_ns = thread_cpu_ns();
    usleep(1000);
    const uint64_t cpu_ns = thread_cpu_ns() - cpu_before_ns;  // the sleep begins before the thread is off the CPU
    const uint64_t sleep_ended = ticks();
    for (uint32_t i = 0; i < 2; ++i, word = 0) leave_checked(&frames[i]);
    vprof_switch_word = 0;
    const std::vector<Record> records = take_records(slot);
    size_t i = 0;
    while (i < records.size() && (kind_of(records[i]) != Kind::kOffCpu || !(aux_of(records[i]) & kOffBlocked))) ++i;
    ASSERT_LT(i + 1, records.size());
    const Record sleep = records[i], inner = records[i + 1];
    EXPECT_GE(sleep.w1 + cpu_ns, 1000000u);
    EXPECT_GE(time_of(sleep, sleep_ended), sleep_ended);
    EXPECT_EQ(kind_of(inner), Kind::kInvocation);
    EXPECT_EQ(time_of(inner, sleep_ended), time_of(sleep, sleep_ended)) << "the look is not the call's time";
    EXPECT_LT(time_of(inner, sleep_ended) - static_cast<uint32_t>(inner.w1), sleep_began);
  });
}

TEST(Entry, CallsCarryTheNumberOfTheirPlace) {
  on_new_thread([](Slot *slot) {
    uint64_t frames[2];
    enter_checked(70, &frames[1], t_thread.calls);
    t_thread.calls[0] = 0x8000 | 1023;
    enter_checked(71, &frames[0], t_thread.calls + 1);
    t_thread.calls[1] = 5;
    leave_checked(&frames[0]);
    EXPECT_EQ(t_thread.calls[1], 0);
    leave_checked(&frames[1]);
    const std::vector<Record> records = take_records(slot);
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(call_of(records[0].w1), 1023u);
    EXPECT_EQ(site_of(records[0].w1), 71u);
    EXPECT_EQ(call_of(records[1].w1), 0u);
  });
}

// 2^20 ticks are half a millisecond at 2 GHz.
TEST(Look, TellsWhatWasTakenWithoutASwitchIfItIsAsMuchAsALookWaits) {
  EXPECT_TRUE(was_taken(2790000, 3200000, 6400000)) << "most of the time since the last look";
  EXPECT_TRUE(was_taken(600000, 1000000000, 2000000000)) << "a small part of a long time";
  EXPECT_FALSE(was_taken(300000, 1000000, 2000000)) << "any event may have come after it";
  EXPECT_FALSE(was_taken(0, 1000000, 2000000));
}

}  // namespace
}  // namespace vprof
