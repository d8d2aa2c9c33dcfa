// The hot path: what an instrumented function calls at entry and exit while its switch byte is not 0 (PROBE_ABI.md).
//
// The floor is two reads of the clock and one 16-byte record per call; nothing here allocates, locks, blocks or makes a
// system call once the thread has its slot. The clock is read last in enter and first in leave, so the rest is not in
// the function's time. The usual case is kept free of calls, so that it needs no stack frame; everything else is a tail
// call of the slow functions.
#include "shadow_stack.h"

namespace vprof {

// Only as tail calls: then their frame begins where that of the probed function ends.
__attribute__((noinline)) static uint16_t *enter_slowly(uint32_t site, void *frame) {
  Slot *slot = current_slot();
  if (slot == nullptr) return nullptr;
  // The caller's stack pointer: above the return address and the saved frame pointer.
  const uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16;
  return enter(slot, site, reinterpret_cast<uint64_t>(frame), stack_pointer);
}

__attribute__((noinline)) static void leave_slowly(void *frame) {
  if (t_thread.slot != nullptr) leave(t_thread.slot, reinterpret_cast<uint64_t>(frame), ticks());
}

extern "C" __attribute__((visibility("default"))) uint16_t *__vprof_enter(uint32_t site, void *frame) {
  Slot *slot = t_thread.tsc_slot;
  const auto now = [] { return read_clock(Clock::kTsc); };
  uint16_t *call;
  if (__builtin_expect(slot != nullptr, 1) &&
      __builtin_expect(enter_quickly(slot, site, reinterpret_cast<uint64_t>(frame), now, &call), 1))
    return call;
  return enter_slowly(site, frame);
}

extern "C" __attribute__((visibility("default"))) void __vprof_leave(void *frame) {
  Slot *slot = t_thread.tsc_slot;
  if (__builtin_expect(slot != nullptr, 1) &&
      __builtin_expect(leave_quickly(slot, reinterpret_cast<uint64_t>(frame), read_clock(Clock::kTsc)), 1))
    return;
  leave_slowly(frame);
}

}  // namespace vprof
