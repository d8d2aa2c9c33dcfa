// The calling thread's slot: claimed on its first record, given back when it ends.
//
//     first record -> claim (CAS) -> CREATED -> records ... -> thread end -> ABANDONED, LOST -> ended -> collector
//     recycles
//
// Everything here works on the calling thread, never locks, blocks or allocates, keeps errno, and is safe in signal
// handlers, without a system call.
#ifndef VPROF_THREAD_H
#define VPROF_THREAD_H

#include "session.h"

namespace vprof {

// Who created the thread (pthread_create) or process (fork), until its first record tells it.
struct Creator {
  uint32_t uid;  // 0: nobody known
  uint64_t ticks;
};

struct ThreadState {
  Slot *slot;
  Slot *tsc_slot;    // for the hot path: the slot if the clock is the TSC, else null
  uint16_t *calls;   // the slot's call numbers, by depth (shadow_stack.h)
  uint64_t look_by;  // in ticks: an event after it looks (off_cpu.h)
  bool refused;      // no slot was free, or the thread has ended
  bool claiming;     // a signal handler's probe in the middle of the claim must not claim again
  uint8_t ending_rounds;
  uint32_t missed;  // records of handlers that interrupted the claim
  Creator creator;
};

extern __thread ThreadState t_thread __attribute__((tls_model("initial-exec")));

// As the kernel numbers it; of a process's first thread, the process.
uint32_t own_tid();

Slot *claim_slot();

// Null if dormant, or no slot was left: then nothing is recorded.
inline Slot *current_slot() {
  Slot *slot = t_thread.slot;
  return __builtin_expect(slot != nullptr, 1) ? slot : claim_slot();
}

// For what is no record: nothing is missed without it. Null also while the slot is claimed, which takes a lock itself
// (own_tid()) and must not count what our wrapper of that asks.
inline Slot *slot_unless_claiming() {
  return t_thread.claiming ? nullptr : current_slot();
}

// The frame `address` is dead if it lies on the same stack below `stack_pointer`: its function was left without
// __vprof_leave. Frames of another stack (signal stack, far away) are taken for alive. Makes one system call
// (sigaltstack) if in doubt, none in a program that restricts its own: there nothing is known of signal stacks.
bool frame_is_dead(uint64_t address, uint64_t stack_pointer);

bool writer_is_alive(Slot *slot, uint64_t stack_pointer);

// Whether the caller interrupts a writer of the slot's records.
inline bool is_being_written(Slot *slot, uint64_t stack_pointer) {
  return __builtin_expect(slot->writing.load(std::memory_order_relaxed) != 0, 0) &&
         writer_is_alive(slot, stack_pointer);
}

// Appends one event. A handler that interrupts a writer drops its event, and counts it; a handler that never came back
// (siglongjmp) does not block its thread's records.
inline bool record(Slot *slot, const Record *event, unsigned n, Space space, uint64_t now) {
  const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (is_being_written(slot, here)) {
    slot->ring.drop(n, now);
    return false;
  }
  slot->writing.store(here, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool stored = slot->ring.push(records_of(slot), event, n, space, now);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->writing.store(0, std::memory_order_relaxed);
  return stored;
}

inline bool record(Slot *slot, Record r, Space space, uint64_t now) {
  return record(slot, &r, 1, space, now);
}

// The program is about to make the TSC deadly for this thread and those it makes (PR_SET_TSC, strict mode of seccomp):
// from now on nothing is recorded in the process but probes of other threads that have a slot.
void silence();

// Lifecycle, see lifecycle.cpp.
bool prepare_threads();        // once, early: makes the key whose destructor ends threads
void end_thread(void *);       // that destructor
void forget_slot(Creator by);  // in a forked child: its slot is the parent's

// The end of a slot's flow: closes what is open in the slot that t_thread has; gives a slot back that it has no more.
void end_records(Slot *slot, uint64_t now);
void give_back(Slot *slot);

}  // namespace vprof

#endif
