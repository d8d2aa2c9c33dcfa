// The hot path: what an instrumented function calls at entry and exit while its switch byte is not 0 (PROBE_ABI.md).
//
// The floor is two reads of the clock and one 16-byte record per call; nothing here allocates, locks, blocks or makes a
// system call once the thread has its slot. The clock is read last in enter and first in leave, so the rest is not in
// the function's time.
#include "shadow_stack.h"

namespace vprof {

extern "C" __attribute__((visibility("default"))) void __vprof_enter(uint32_t site, void *frame) {
  Slot *slot = current_slot();
  if (__builtin_expect(slot == nullptr, 0)) return;
  // The caller's stack pointer: above the return address and the saved frame pointer.
  const uint64_t stack_pointer = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) + 16;
  enter(slot, site, reinterpret_cast<uint64_t>(frame), stack_pointer);
}

extern "C" __attribute__((visibility("default"))) void __vprof_leave(void *frame) {
  if (__builtin_expect(t_thread.slot == nullptr, 0)) return;
  leave(t_thread.slot, reinterpret_cast<uint64_t>(frame), ticks());
}

}  // namespace vprof
