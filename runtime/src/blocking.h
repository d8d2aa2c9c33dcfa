// What the wrappers of blocking functions share (interpose.h, sync.h).
#ifndef VPROF_BLOCKING_H
#define VPROF_BLOCKING_H

#include <errno.h>
#include <pthread.h>

#include "sync.h"

namespace vprof {

// Runs `block`, a cancellation point, within `wait`, which a thread that never comes back from it leaves in order
// (sync.h).
template <typename Block>
auto within(const Wait &wait, Block block) {
  const uint32_t place = open_wait(wait);
  const auto result = block();
  close_wait(place);
  return result;
}

// An attempt is the same call without waiting. Only its success counts: whatever it fails with, the real call decides.

// The primitives that return their error. `attempt` never blocks and says EBUSY where `block` would: only then a wait
// begins, so what is had at once writes nothing.
template <typename Attempt, typename Block>
int acquire(ObjectClass cls, const void *object, Trust trust, Attempt attempt, Block block) {
  if (!attached()) return block();
  const int rc = attempt();
  if (__builtin_expect(rc == 0, 1)) begin_hold(cls, object_id(object));
  if (__builtin_expect(rc == 0, 1) || rc == EOWNERDEAD) return rc;
  if (rc != EBUSY) return block();
  const Wait wait = begin_wait(cls, object_id(object));
  const int blocked = block();
  if (blocked == 0) keep_hold(table_key(cls, wait.object), wait.began);
  finish_wait(wait, blocked, trust);
  return blocked;
}

// What never blocks: had, it is held.
template <typename Attempt>
int try_to_acquire(ObjectClass cls, const void *object, Attempt attempt) {
  const int rc = attempt();
  if (rc == 0 && attached()) begin_hold(cls, object_id(object));
  return rc;
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
  if (rc != -1) return rc;
  const bool is_busy = errno == would_block;
  errno = saved_errno;
  if (!is_busy) return block();
  const Wait wait = begin_wait(cls, object);
  const auto blocked = within(wait, block);
  const int error = errno;
  finish_wait(wait, blocked == -1 ? error : 0, Trust::kOnlyDuringWait);
  errno = error;
  return blocked;
}

}  // namespace vprof

#endif
