// Condition variables of POSIX and C11; std::condition_variable and _any are made of them.
//
// A wait releases the mutex and takes it again: it is woken by the signaller and then by whoever has the mutex. Who
// slept only once did so before the signal, and found the mutex free; else it is two waits, for the signal and from
// then on for the mutex. Where the thread had no CPU in the second, the mutex's holders tell (TRACE_FORMAT.md section
// 2.6).
#include <threads.h>

#include "blocking.h"
#include "interpose.h"
#include "off_cpu.h"
#include "signals_of_conditions.h"

namespace vprof {

// The one signal that woke this waiter (signals_of_conditions.h), or else the last one.
static Peer find_signaller(const Wait &wait, uint64_t resumed) {
  const uint64_t stamp = wait.entry != nullptr ? take_signal(*wait.entry, wait.began, resumed) : 0;
  if (stamp == 0) return find_peer(wait, resumed, Trust::kOnlyDuringWait);
  const uint32_t newest = g_session.arena->newest_uid.load(std::memory_order_relaxed);
  return {Stamp::uid(stamp, newest), Stamp::time(stamp, resumed), 0};
}

struct ConditionWait {
  Wait on_condition;
  Wait on_mutex;
  uint64_t sleeps_before;
};

// A signal that comes at once may come before the sleep, which is one for the mutex then.
static bool came_at_once(const ConditionWait &wait, const Peer &signaller) {
  constexpr uint64_t kAtOnce = 1 << 15;  // ticks: some microseconds
  return signaller.time - wait.on_condition.began <= kAtOnce;
}

static bool slept_once(const ConditionWait &wait) {
  return count_sleeps() - wait.sleeps_before == 1;
}

static void write_woken(const ConditionWait &wait, uint64_t resumed) {
  const Peer signaller = find_signaller(wait.on_condition, resumed);
  if (signaller.flags != 0 || (slept_once(wait) && !came_at_once(wait, signaller)))
    return write_blocked(wait.on_condition, signaller, resumed);
  const Peer unlocker = find_peer(wait.on_mutex, resumed, Trust::kOnlyDuringWait);
  // Who signals at once and releases the mutex a moment later is to blame for both: one record tells as much as two.
  const bool one_to_blame = came_at_once(wait, signaller) && unlocker.uid == signaller.uid;
  if (unlocker.flags != 0 || unlocker.time <= signaller.time || one_to_blame)
    return write_blocked(wait.on_condition, later(signaller, unlocker), resumed);
  const uint64_t signalled = signaller.time + 1;
  Wait on_mutex = wait.on_mutex;
  on_mutex.began = signalled;
  write_blocked(wait.on_condition, signaller, signalled);
  write_blocked(on_mutex, unlocker, resumed);
}

enum class End { kWoken, kTimedOut, kCancelled, kRefused };

static void finish(const ConditionWait &wait, End how) {
  const uint64_t resumed = ticks();
  look_away();
  if (how == End::kWoken)
    write_woken(wait, resumed);
  else if (how != End::kRefused)
    write_blocked(wait.on_condition, how == End::kTimedOut ? kTimedOut : kNobody, resumed);
  keep_hold(table_key(ObjectClass::kMutex, wait.on_mutex.object), resumed);
  end_wait(wait.on_mutex);
  end_wait(wait.on_condition);
}

static void abandon(void *wait) {
  finish(*static_cast<ConditionWait *>(wait), End::kCancelled);
}

static Wait begin_condition_wait(uint64_t condition) {
  const Wait wait = begin_wait(ObjectClass::kCondition, condition);
  if (wait.entry != nullptr && wait.entry->waiters.load(std::memory_order_relaxed) == 1) forget_signals(*wait.entry);
  return wait;
}

// `timed_out` is what `block` returns then.
template <typename Block>
static int wait_on_condition(const void *condition, const void *mutex, int timed_out, Block block) {
  if (!attached()) return block();
  const uint64_t mutex_id = object_id(mutex);
  const Wait on_condition = begin_condition_wait(object_id(condition));
  release_with_time(ObjectClass::kMutex, mutex_id, false);
  ConditionWait wait = {on_condition, begin_wait(ObjectClass::kMutex, mutex_id), count_sleeps()};
  int rc = 0;
  pthread_cleanup_push(abandon, &wait);
  rc = block();
  pthread_cleanup_pop(0);
  const bool woken = rc == 0 || rc == EOWNERDEAD;
  finish(wait, woken ? End::kWoken : rc == timed_out ? End::kTimedOut : End::kRefused);
  return rc;
}

// `most`: how many waiters it wakes. It leaves their signals before the real call: they may come back within it. The
// C library sleeps in that call until waiters that earlier signals woke have left: they only need a CPU for it.
template <typename End>
static int signal_condition(const void *condition, uint32_t most, End end) {
  if (!attached()) return end();
  const uint64_t id = object_id(condition);
  ObjectEntry *entry = g_session.arena->objects.find(table_key(ObjectClass::kCondition, id));
  if (entry != nullptr && entry->waiters.load(std::memory_order_relaxed) != 0) {
    const uint64_t stamp = Stamp::with_time(own_uid(), ticks());
    for (uint32_t i = 0; i < most && leave_signal(*entry, stamp);) ++i;
  }
  look_before_call();
  const int rc = release_by(ObjectClass::kCondition, id, end);
  look_after_call(kOffForWoken);
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
  return signal_condition(condition, 1, [=] { return real_pthread_cond_signal(condition); });
}

VPROF_CONDITION(pthread_cond_broadcast, (pthread_cond_t * condition), (condition)) {
  return signal_condition(condition, ConditionState::kPlaces, [=] { return real_pthread_cond_broadcast(condition); });
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
  return signal_condition(condition, 1, [=] { return real_cnd_signal(condition); });
}

VPROF_INTERPOSE(int, cnd_broadcast, (cnd_t * condition), (condition)) {
  return signal_condition(condition, ConditionState::kPlaces, [=] { return real_cnd_broadcast(condition); });
}

}  // namespace vprof
