// __vprof_enter and __vprof_leave as a probed function sees them (PROBE_ABI.md "Calls"): all registers but rax and r11
// are kept on every path, whoever served the call.
#include <array>

#include "in_process.h"
#include "shadow_stack.h"

extern "C" {
uint16_t *__vprof_enter(uint32_t site, void *frame);
uint16_t *__vprof_enter_site(uint32_t site, void *frame);
void __vprof_leave(void *frame);

// Calls `function` with before[] in the registers, leaves in after[] what they are then. In the order of kNames.
void call_with_registers(void (*function)(), uint64_t (*before_after)[2][15]);
}

__asm__(R"(
        .text
        .globl call_with_registers
call_with_registers:
        .irp r, rbx, rbp, r12, r13, r14, r15, rsi
        pushq %\r
        .endr
        movq %rdi, call_with_registers_target(%rip)
        movq (%rsi), %rax
        movq 8(%rsi), %r11
        movq 16(%rsi), %rbx
        movq 24(%rsi), %rcx
        movq 32(%rsi), %rdx
        movq 40(%rsi), %rdi
        movq 48(%rsi), %rbp
        movq 56(%rsi), %r8
        movq 64(%rsi), %r9
        movq 72(%rsi), %r10
        movq 80(%rsi), %r12
        movq 88(%rsi), %r13
        movq 96(%rsi), %r14
        movq 104(%rsi), %r15
        movq 112(%rsi), %rsi
        call *call_with_registers_target(%rip)
        xchgq %rsi, (%rsp)
        movq %rax, 120(%rsi)
        movq %r11, 128(%rsi)
        movq %rbx, 136(%rsi)
        movq %rcx, 144(%rsi)
        movq %rdx, 152(%rsi)
        movq %rdi, 160(%rsi)
        movq %rbp, 168(%rsi)
        movq %r8, 176(%rsi)
        movq %r9, 184(%rsi)
        movq %r10, 192(%rsi)
        movq %r12, 200(%rsi)
        movq %r13, 208(%rsi)
        movq %r14, 216(%rsi)
        movq %r15, 224(%rsi)
        popq %rax
        movq %rax, 232(%rsi)
        .irp r, r15, r14, r13, r12, rbp, rbx
        popq %\r
        .endr
        ret
        .local call_with_registers_target
        .comm call_with_registers_target, 8, 8
)");

namespace vprof {
namespace {

constexpr std::array<const char *, 15> kNames = {"rax", "r11", "rbx", "rcx", "rdx", "rdi", "rbp", "r8",
                                                 "r9",  "r10", "r12", "r13", "r14", "r15", "rsi"};
constexpr size_t kRax = 0, kRdi = 5, kRsi = 14;

template <typename F>
uint64_t call_keeping_registers(F *function, size_t first_kept, uint64_t rax, uint64_t rdi, uint64_t rsi) {
  uint64_t registers[2][15];
  for (size_t i = 0; i < kNames.size(); ++i) registers[0][i] = 0x1111111111111111 * (i + 1);
  registers[0][kRax] = rax;
  registers[0][kRdi] = rdi;
  registers[0][kRsi] = rsi;
  call_with_registers(reinterpret_cast<void (*)()>(function), &registers);
  for (size_t i = first_kept; i < kNames.size(); ++i)
    if (i != 1) EXPECT_EQ(registers[0][i], registers[1][i]) << kNames[i];
  return registers[1][kRax];
}

// Both ways in must do the same; `at` is where the calls of the frame are numbered.
void enter_checked(uint32_t site, void *frame, const void *at) {
  const uint64_t address = reinterpret_cast<uint64_t>(frame), expected = reinterpret_cast<uint64_t>(at);
  if (site % 2 == 0)
    EXPECT_EQ(call_keeping_registers(__vprof_enter, 2, 7, site, address), expected);
  else
    EXPECT_EQ(call_keeping_registers(__vprof_enter_site, 2, site, 7, address), expected);
}

void leave_checked(void *frame) {
  call_keeping_registers(__vprof_leave, 0, 0x1234, reinterpret_cast<uint64_t>(frame), 7);
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
      call_keeping_registers(site == 70 ? __vprof_enter : __vprof_enter_site, 2, site, site,
                             reinterpret_cast<uint64_t>(&frame));
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

TEST(Entry, AFullRingKeepsTheRegisters) {
  on_new_thread([](Slot *slot) {
    uint64_t frame;
    const uint64_t capacity = slot->ring.capacity();
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

}  // namespace
}  // namespace vprof
