// Since when a thread has had the locks it holds, so that its release can tell a waiter for how much of the wait it is
// to blame.
//
//     acquire:  begin_hold(cls, object, since)      release:  end_hold(key) -> HELD record, if somebody waits (sync.h)
//
// A small table in the thread's slot, one place per hash: a lock that shares its place with a later one is forgotten,
// and the begin of its hold is unknown then. Only objects that somebody has waited for are kept: all others cost one
// look. `since` is when the thread began to wait for the object if it did: what it waited for then is found on its own
// path (docs/concepts.md).
//
// REQUIRES for all: attached().
#ifndef VPROF_HOLDS_H
#define VPROF_HOLDS_H

#include "thread.h"

namespace vprof {

// Classes of which a release with a time always writes a HELD record: what is taken and given back.
constexpr bool is_held(ObjectClass cls) {
  return cls == ObjectClass::kMutex || cls == ObjectClass::kReadWriteLock || cls == ObjectClass::kSpinLock ||
         cls == ObjectClass::kSemaphore || cls == ObjectClass::kFileLock;
}

inline Hold &hold_of(Slot *slot, uint64_t key) {
  return slot->holds[(key * 0x9E3779B97F4A7C15u >> 40) % kMaxHolds];
}

// The thread has the object of `key` since `since`. Taken again while it is held (recursive mutex, reader) it is held
// since the first time.
inline void keep_hold(uint64_t key, uint64_t since) {
  Slot *slot = slot_unless_claiming();
  if (slot == nullptr) return;
  Hold &hold = hold_of(slot, key);
  if (hold.key == key)
    ++hold.again;
  else
    hold = {key, since, 0};
}

struct EndedHold {
  uint64_t since;  // 0: not known
  bool goes_on;    // it was taken several times
};

inline EndedHold end_hold(uint64_t key) {
  Slot *slot = slot_unless_claiming();
  if (slot == nullptr) return {0, false};
  Hold &hold = hold_of(slot, key);
  if (hold.key != key) return {0, false};
  if (hold.again != 0) {
    --hold.again;
    return {hold.since, true};
  }
  hold.key = 0;
  return {hold.since, false};
}

}  // namespace vprof

#endif
