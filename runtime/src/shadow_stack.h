// The open calls of a thread (`Slot::frames`), kept so that every exit finds its entry whatever happened in between.
//
// Source: PROBE_ABI.md "Calls". Two rules keep it true without help from the program (longjmp_interpose.cpp helps):
//   enter: an open frame that lies below the caller's stack pointer, or at the new frame's own address, is dead
//   (longjmp); leave: looks for its exact frame address; what lies above it is dead; not found means entered while the
//   probe was off.
// Dead frames become ABANDONED records. Calls deeper than kMaxFrames are counted as dropped records.
//
// Signal handlers may push and pop between any two instructions: they leave `depth` and all entries below it as they
// found them. Entries above `depth` always have the address kNoFrame, so enter first counts its entry, which a handler
// then takes for an open frame high up, and fills it after, its address last. An entry that a handler's siglongjmp left
// unfilled is dropped silently later: that call never began.
//
// The frames lie in shared memory: the depth is checked wherever it is used as an index (arena.h), what stands in a
// frame only goes into records and comparisons.
//
// Call numbers (PROBE_ABI.md): t_thread.calls[d] belongs to frame d, is written by the program through what enter
// returned, and is 0 above `depth`. They lie in memory of the process's own, not in the session's: a forked child still
// stores through the pointers it has inherited, and must not reach its parent's frames, nor those of the slot's next
// thread. So the child gets new ones, and the inherited ones are never unmapped.
#ifndef VPROF_SHADOW_STACK_H
#define VPROF_SHADOW_STACK_H

#include "thread.h"

namespace vprof {

// New call numbers for the process, all 0. False: no memory, nothing has changed.
bool renew_call_numbers(Layout layout);
inline size_t call_numbers_bytes(Layout layout) {
  return size_t{layout.slots} * kMaxFrames * sizeof(uint16_t);
}

// The complete functions. `called` is call_tag()'s, `address` the frame of PROBE_ABI.md, `stack_pointer` the caller's.
// enter() returns the place of the frame's call number; null: too deep, not recorded.
uint16_t *enter(Slot *slot, uint32_t called, uint64_t address, uint64_t stack_pointer);
void leave(Slot *slot, uint64_t address, uint64_t now);

// The thread is about to jump to where the stack pointer is `stack_pointer`: closes the frames that it leaves.
void leave_for(Slot *slot, uint64_t stack_pointer, uint64_t now);

// What was off the CPU until now was so before the topmost call, which begins afterwards (off_cpu.h).
void look_before_top(Slot *slot);

// Once, before the first call: how much entry.S saves.
void prepare_entry();

// Closes all open frames as abandoned.
void abandon_all(Slot *slot, uint64_t now);

// push() of a record that found no room at once, and the end of its writing.
void finish_record(Slot *slot, Record r, uint64_t now);

inline void clear_call(uint32_t depth) {
  *static_cast<volatile uint16_t *>(t_thread.calls + depth) = 0;
}

template <typename Now>
inline uint16_t *push_frame(Slot *slot, uint32_t depth, uint32_t called, uint64_t address, Now now) {
  uint16_t *call = t_thread.calls + depth;
  const uint16_t number = depth != 0 ? *static_cast<volatile uint16_t *>(call - 1) : 0;
  slot->depth.store(depth + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Frame &f = slot->frames[depth];
  f.tag.store(call_tag(called, number), std::memory_order_relaxed);
  f.start.store(now(), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.address.store(address, std::memory_order_release);  // whoever reads it, in another process, reads the rest
  return call;
}

// entry.S does what enter_quickly() and leave_quickly() do, for the TSC: change both.

// The usual case of enter(): an open frame above, room for one more. False: nothing done.
template <typename Now>
inline bool enter_quickly(Slot *slot, uint32_t called, uint64_t address, Now now, uint16_t **call) {
  const uint32_t depth = slot->depth.load(std::memory_order_relaxed);
  if (__builtin_expect(depth >= kMaxFrames, 0)) return false;
  if (depth != 0 && __builtin_expect(slot->frames[depth - 1].address.load(std::memory_order_relaxed) <= address, 0))
    return false;
  *call = push_frame(slot, depth, called, address, now);
  return true;
}

// The usual case of leave(): the frame is on top, the call was short, no record is being written. False: nothing done.
inline bool leave_quickly(Slot *slot, uint64_t address, uint64_t now) {
  const uint32_t depth = slot->depth.load(std::memory_order_relaxed) - 1;
  if (__builtin_expect(depth >= kMaxFrames, 0)) return false;  // no open frame
  Frame &f = slot->frames[depth];
  if (__builtin_expect(f.address.load(std::memory_order_relaxed) != address, 0)) return false;
  const uint64_t duration = now - f.start.load(std::memory_order_relaxed);
  if (__builtin_expect(duration >= kLongDuration, 0)) return false;  // also if the clock went backwards
  if (__builtin_expect(slot->writing.load(std::memory_order_relaxed) != 0, 0)) return false;
  const Record r = {f.head | (now & kTimeMask), f.tag.load(std::memory_order_relaxed) | duration};
  slot->writing.store(address, std::memory_order_relaxed);
  clear_call(depth);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.address.store(kNoFrame, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->depth.store(depth, std::memory_order_relaxed);
  if (__builtin_expect(!slot->ring.push_quickly(records_of(slot), r), 0)) {
    finish_record(slot, r, now);
    return true;
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->writing.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace vprof

#endif
