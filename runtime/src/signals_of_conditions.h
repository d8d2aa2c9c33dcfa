// Which signal woke which waiter of a condition variable.
//
//     signaller:  leave_signal, once for each waiter that is woken      waiter:  ... comes back, take_signal
//
// A signal wakes one waiter. On a busy machine it has no CPU for a while, and the last signal then is another waiter's:
// charged with that one, the wait for a CPU would look like a wait for the signal. So signals lie in the object's entry
// until a waiter takes one: the oldest that came during its own wait. Who of several waiters was meant nobody knows; it
// makes no difference to how long all of them waited for signals, and how long for a CPU.
//
// Few places: what finds none is known by the object's last stamp alone. A signal whose waiter gave up lies there until
// nobody waits.
#ifndef VPROF_SIGNALS_OF_CONDITIONS_H
#define VPROF_SIGNALS_OF_CONDITIONS_H

#include "objects.h"

namespace vprof {

// For who waits alone: nothing that lies there is its own.
inline void forget_signals(ObjectEntry &entry) {
  for (std::atomic<uint64_t> &place : entry.condition.signals) place.store(0, std::memory_order_relaxed);
}

// False: as many lie there as there are waiters, so that this one wakes nobody; or no place is free.
inline bool leave_signal(ObjectEntry &entry, uint64_t stamp) {
  std::atomic<uint64_t> *place = nullptr;
  uint32_t untaken = 0;
  for (std::atomic<uint64_t> &one : entry.condition.signals)
    if (one.load(std::memory_order_relaxed) != 0)
      ++untaken;
    else
      place = &one;
  uint64_t nothing = 0;
  return place != nullptr && untaken < entry.waiters.load(std::memory_order_relaxed) &&
         place->compare_exchange_strong(nothing, stamp, std::memory_order_release);
}

// The stamp of the oldest signal from `began` to `resumed`, which is no other waiter's any more; 0: there is none.
inline uint64_t take_signal(ObjectEntry &entry, uint64_t began, uint64_t resumed) {
  for (uint32_t tries = 0; tries < ConditionState::kPlaces; ++tries) {
    std::atomic<uint64_t> *place = nullptr;
    uint64_t stamp = 0;
    for (std::atomic<uint64_t> &one : entry.condition.signals) {
      const uint64_t found = one.load(std::memory_order_acquire);
      if (found == 0 || Stamp::time(found, resumed) < began) continue;
      if (stamp != 0 && Stamp::time(stamp, resumed) <= Stamp::time(found, resumed)) continue;
      place = &one;
      stamp = found;
    }
    if (stamp == 0 || place->compare_exchange_strong(stamp, 0, std::memory_order_acq_rel)) return stamp;
  }
  return 0;
}

}  // namespace vprof

#endif
