// Condition variables of POSIX and C11; std::condition_variable and _any are made of them.
//
// A wait releases the mutex and takes it again: it is woken by the signaller and then by whoever has the mutex; the
// last of the two counts.
#include <threads.h>

#include "blocking.h"
#include "interpose.h"

namespace vprof {

static Peer later_peer(const Wait &on_condition, const Wait &on_mutex, uint64_t resumed) {
  const Peer signaller = find_peer(on_condition, resumed, Trust::kOnlyDuringWait);
  const Peer unlocker = find_peer(on_mutex, resumed, Trust::kOnlyDuringWait);
  if (signaller.flags != 0 || unlocker.flags != 0) return signaller;
  return later(signaller, unlocker);
}

struct ConditionWait {
  Wait on_condition;
  Wait on_mutex;
};

static void finish(const ConditionWait &wait, bool woken, bool timed_out) {
  const uint64_t resumed = ticks();
  const Peer peer = woken ? later_peer(wait.on_condition, wait.on_mutex, resumed) : kNobody;
  if (woken || timed_out) write_blocked(wait.on_condition, peer, resumed);
  keep_hold(table_key(ObjectClass::kMutex, wait.on_mutex.object), resumed);
  end_wait(wait.on_mutex);
  end_wait(wait.on_condition);
}

static void abandon(void *wait) {
  finish(*static_cast<ConditionWait *>(wait), false, true);
}

// `timed_out` is what `block` returns then.
template <typename Block>
static int wait_on_condition(const void *condition, const void *mutex, int timed_out, Block block) {
  if (!attached()) return block();
  const uint64_t mutex_id = object_id(mutex);
  const Wait on_condition = begin_wait(ObjectClass::kCondition, object_id(condition));
  release_with_time(ObjectClass::kMutex, mutex_id, false);
  ConditionWait wait = {on_condition, begin_wait(ObjectClass::kMutex, mutex_id)};
  int rc = 0;
  pthread_cleanup_push(abandon, &wait);
  rc = block();
  pthread_cleanup_pop(0);
  finish(wait, rc == 0 || rc == EOWNERDEAD, rc == timed_out);
  return rc;
}

// Condition variables exist twice in libc; the old version has another layout.
#define VPROF_CONDITION(name, parameters, arguments) \
  VPROF_INTERPOSE_VERSION("GLIBC_2.3.2", int, name, parameters, arguments)

VPROF_CONDITION(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t *mutex), (condition, mutex)) {
  return wait_on_condition(condition, mutex, ETIMEDOUT, [=] { return real_pthread_cond_wait(condition, mutex); });
}

VPROF_CONDITION(pthread_cond_timedwait, (pthread_cond_t * condition, pthread_mutex_t *mutex, const timespec *until),
                (condition, mutex, until)) {
  return wait_on_condition(condition, mutex, ETIMEDOUT,
                           [=] { return real_pthread_cond_timedwait(condition, mutex, until); });
}

VPROF_INTERPOSE(int, pthread_cond_clockwait,
                (pthread_cond_t * condition, pthread_mutex_t *mutex, clockid_t clock, const timespec *until),
                (condition, mutex, clock, until)) {
  return wait_on_condition(condition, mutex, ETIMEDOUT,
                           [=] { return real_pthread_cond_clockwait(condition, mutex, clock, until); });
}

VPROF_CONDITION(pthread_cond_signal, (pthread_cond_t * condition), (condition)) {
  return release(ObjectClass::kCondition, condition, [=] { return real_pthread_cond_signal(condition); });
}

VPROF_CONDITION(pthread_cond_broadcast, (pthread_cond_t * condition), (condition)) {
  return release(ObjectClass::kCondition, condition, [=] { return real_pthread_cond_broadcast(condition); });
}

VPROF_INTERPOSE(int, cnd_wait, (cnd_t * condition, mtx_t *mutex), (condition, mutex)) {
  return wait_on_condition(condition, mutex, thrd_timedout, [=] { return real_cnd_wait(condition, mutex); });
}

VPROF_INTERPOSE(int, cnd_timedwait, (cnd_t * condition, mtx_t *mutex, const timespec *until),
                (condition, mutex, until)) {
  return wait_on_condition(condition, mutex, thrd_timedout,
                           [=] { return real_cnd_timedwait(condition, mutex, until); });
}

VPROF_INTERPOSE(int, cnd_signal, (cnd_t * condition), (condition)) {
  return release(ObjectClass::kCondition, condition, [=] { return real_cnd_signal(condition); });
}

VPROF_INTERPOSE(int, cnd_broadcast, (cnd_t * condition), (condition)) {
  return release(ObjectClass::kCondition, condition, [=] { return real_cnd_broadcast(condition); });
}

}  // namespace vprof
