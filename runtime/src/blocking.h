// What the wrappers of blocking functions share (interpose.h, sync.h).
#ifndef VPROF_BLOCKING_H
#define VPROF_BLOCKING_H

#include <errno.h>
#include <pthread.h>

#include "sync.h"

namespace vprof {

inline void abandon_wait(void *wait) {
  const Wait &abandoned = *static_cast<const Wait *>(wait);
  write_blocked(abandoned, kNobody, ticks());
  end_wait(abandoned);
}

// Runs `block`, a cancellation point, within `wait`, which a cancelled thread leaves in order.
template <typename Block>
auto within(Wait wait, Block block) {
  decltype(block()) result;
  pthread_cleanup_push(abandon_wait, &wait);
  result = block();
  pthread_cleanup_pop(0);
  return result;
}

// The primitives that return their error. `attempt` never blocks and says EBUSY where `block` would: only then a wait
// begins, so what is had at once writes nothing.
template <typename Attempt, typename Block>
int acquire(ObjectClass cls, const void *object, Trust trust, Attempt attempt, Block block) {
  if (!attached()) return block();
  const int rc = attempt();
  if (__builtin_expect(rc != EBUSY, 1)) return rc;
  const Wait wait = begin_wait(cls, object_id(object));
  const int blocked = block();
  finish_wait(wait, blocked, trust);
  return blocked;
}

// `end` is the real release, of an object that waiters of `cls` wait for.
template <typename End>
auto release(ObjectClass cls, const void *object, End end) {
  if (!attached()) return end();
  return release_by(cls, object_id(object), end);
}

// The primitives that return -1 and set errno; `would_block` is what `attempt` sets it to then. errno stays what it was
// unless the call fails.
template <typename Attempt, typename Block>
auto attempt_or_wait(ObjectClass cls, uint64_t object, int would_block, Attempt attempt, Block block) {
  const int saved_errno = errno;
  const auto rc = attempt();
  if (rc != -1 || errno != would_block) return rc;
  errno = saved_errno;
  const Wait wait = begin_wait(cls, object);
  const auto blocked = within(wait, block);
  const int error = errno;
  finish_wait(wait, blocked == -1 ? error : 0, Trust::kOnlyDuringWait);
  errno = error;
  return blocked;
}

}  // namespace vprof

#endif
