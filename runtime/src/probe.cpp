// The slow paths of entry.S, which calls them: a thread's first call, dead frames, other clocks, full rings.
#include "entry_offsets.h"
#include "off_cpu.h"
#include "saved_registers.h"
#include "shadow_stack.h"

namespace vprof {

// entry.S keeps what the system's C convention lets a function change.
extern "C" {

// Of the stack, for the vector registers (saved_registers.h).
int64_t vprof_vector_bytes = 0;

// Never null: a call that is not recorded has its number, if any, stored in `frame`.
uint16_t *vprof_enter_slowly(uint32_t called, uint16_t *frame, uint64_t stack_pointer) {
  Slot *slot = current_slot();
  if (slot == nullptr) return frame;
  uint16_t *call = enter(slot, called, reinterpret_cast<uint64_t>(frame), stack_pointer);
  return call != nullptr ? call : frame;
}

// `tsc` is the time of the call if the thread's clock is the TSC, else 0.
void vprof_leave_slowly(void *frame, uint64_t tsc) {
  Slot *slot = t_thread.slot;
  if (slot == nullptr) return;
  const uint64_t now = tsc != 0 ? tsc : ticks();
  leave(slot, reinterpret_cast<uint64_t>(frame), should_look(now) ? look(slot) : now);
}

// The thread may have been off the CPU before the call that it has just entered.
void vprof_enter_looking() {
  look_before_top(t_thread.slot);
}

// The end of a leave whose record found no room at once.
void vprof_finish_record(Slot *slot, Record r) {
  finish_record(slot, r, time_of(r, ticks()));
}
}

void prepare_entry() {
  vprof_vector_bytes = bytes_of_vectors();
}

static_assert(offsetof(ThreadState, tsc_slot) == VPROF_THREAD_TSC_SLOT);
static_assert(offsetof(ThreadState, calls) == VPROF_THREAD_CALLS);
static_assert(offsetof(ThreadState, look_by) == VPROF_THREAD_LOOK_BY);
static_assert(offsetof(Slot, writing) == VPROF_SLOT_WRITING);
static_assert(offsetof(Slot, depth) == VPROF_SLOT_DEPTH);
static_assert(offsetof(Slot, frames) == VPROF_SLOT_FRAMES);
static_assert(sizeof(Slot) == VPROF_SLOT_RECORDS);
static_assert(offsetof(Frame, address) == VPROF_FRAME_ADDRESS);
static_assert(offsetof(Frame, start) == VPROF_FRAME_START);
static_assert(offsetof(Frame, tag) == VPROF_FRAME_TAG);
static_assert(offsetof(Frame, head) == VPROF_FRAME_HEAD);
static_assert(sizeof(Frame) == 1 << VPROF_FRAME_SHIFT);
static_assert(sizeof(Record) == 1 << VPROF_RECORD_SHIFT);
static_assert(kMaxFrames == VPROF_MAX_FRAMES);
static_assert(kSiteBits == VPROF_SITE_BITS && kTimeMask == (uint64_t{1} << VPROF_TIME_BITS) - 1);
static_assert(kByReturnAddress == VPROF_BY_RETURN_ADDRESS);
static_assert(kMaxCallNumber == (1u << (32 - kSiteBits)) - 1, "what is left of a number after the shift to its place");
static_assert(kNoFrame == ~uint64_t{0} && kLongDuration > 0x7fffffff);

struct EntryOffsets {
  static_assert(offsetof(Slot, ring) + offsetof(Ring, tail_) == VPROF_SLOT_TAIL);
  static_assert(offsetof(Slot, ring) + offsetof(Ring, limit_) == VPROF_SLOT_LIMIT);
};

}  // namespace vprof
