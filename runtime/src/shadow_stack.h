// The open calls of a thread (`Slot::frames`), kept so that every exit finds its entry whatever happened in between.
//
// Source: PROBE_ABI.md "Calls". Two rules keep it true without help from the program:
//   enter: an open frame that lies below the caller's stack pointer, or at the new frame's own address, is dead
//   (longjmp); leave: looks for its exact frame address; what lies above it is dead; not found means entered while the
//   probe was off.
// Dead frames become ABANDONED records. Calls deeper than kMaxFrames are counted as dropped records.
//
// Signal handlers may push and pop between any two instructions: they leave `depth` and all entries below it as they
// found them. Entries above `depth` always have the address kNoFrame, so enter first counts its entry, which a handler
// then takes for an open frame high up, and fills it after, its address last. An entry that a handler's siglongjmp left
// unfilled is dropped silently later: that call never began.
#ifndef VPROF_SHADOW_STACK_H
#define VPROF_SHADOW_STACK_H

#include "thread.h"

namespace vprof {

// Closes frame number `depth` (0 = outermost), the topmost one, at `now`.
void close_top(Slot *slot, uint32_t depth, uint64_t now, Kind kind);

// Closes all open frames as abandoned.
void abandon_all(Slot *slot, uint64_t now);

// Closes the dead frames on top; returns the depth that remains.
uint32_t abandon_dead(Slot *slot, uint64_t address, uint64_t stack_pointer, uint64_t now);

// A leave whose frame is not on top: closes it and what lies above it, or nothing if it is not there.
void leave_below_top(Slot *slot, uint64_t address, uint64_t now);

inline void enter(Slot *slot, uint64_t site, uint64_t address, uint64_t stack_pointer) {
  uint32_t depth = slot->depth.load(std::memory_order_relaxed);
  if (depth != 0 && __builtin_expect(slot->frames[depth - 1].address.load(std::memory_order_relaxed) <= address, 0))
    depth = abandon_dead(slot, address, stack_pointer, ticks());
  if (__builtin_expect(depth == kMaxFrames, 0)) {
    slot->ring.drop(1, ticks());
    return;
  }
  slot->depth.store(depth + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  Frame &f = slot->frames[depth];
  f.site.store(site, std::memory_order_relaxed);
  f.start.store(ticks(), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.address.store(address, std::memory_order_relaxed);
}

inline void leave(Slot *slot, uint64_t address, uint64_t now) {
  const uint32_t depth = slot->depth.load(std::memory_order_relaxed);
  if (__builtin_expect(depth != 0 && slot->frames[depth - 1].address.load(std::memory_order_relaxed) == address, 1))
    close_top(slot, depth - 1, now, Kind::kInvocation);
  else
    leave_below_top(slot, address, now);
}

}  // namespace vprof

#endif
