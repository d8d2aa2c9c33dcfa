// Mutexes, condition variables, semaphores, thread creation and join: the C library's functions, wrapped to see who
// wakes whom.
//
// The symbols here come before libc's in the program's lookup order; each does the real work through dlsym(RTLD_NEXT).
// Without a session a wrapper is one test and one jump. An acquire first tries; only if the object is busy a wait
// begins (sync.h), so the uncontended path writes nothing. Calls made by libc itself (inside a condition wait, stdio's
// locks) do not come here.
//
// Not in libvprof.a: a static program has no next definition to look up, so it has no wake-up edges from pthread
// functions. Cancellation: a thread cancelled inside a wait leaves the object's count of waiters too high; then each
// release of it takes a time that nobody needs.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "sync.h"

#define VPROF_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace vprof {

struct RealFunctions {
  decltype(&::pthread_mutex_lock) mutex_lock;
  decltype(&::pthread_mutex_trylock) mutex_trylock;
  decltype(&::pthread_mutex_timedlock) mutex_timedlock;
  decltype(&::pthread_mutex_clocklock) mutex_clocklock;
  decltype(&::pthread_mutex_unlock) mutex_unlock;
  decltype(&::pthread_cond_wait) cond_wait;
  decltype(&::pthread_cond_timedwait) cond_timedwait;
  decltype(&::pthread_cond_clockwait) cond_clockwait;
  decltype(&::pthread_cond_signal) cond_signal;
  decltype(&::pthread_cond_broadcast) cond_broadcast;
  decltype(&::sem_wait) sem_wait;
  decltype(&::sem_trywait) sem_trywait;
  decltype(&::sem_timedwait) sem_timedwait;
  decltype(&::sem_clockwait) sem_clockwait;
  decltype(&::sem_post) sem_post;
  decltype(&::pthread_create) create;
  decltype(&::pthread_join) join;
  decltype(&::pthread_tryjoin_np) tryjoin;
};

static RealFunctions g_real;

// Condition variables exist twice in libc; the old version has another layout, so theirs is named.
template <typename F>
static void look_up(F &f, const char *name, const char *version = nullptr) {
  void *p = version != nullptr ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (p == nullptr) p = dlsym(RTLD_NEXT, name);
  f = reinterpret_cast<F>(p);
}

// By the constructor, or earlier by the first function that another library's constructor calls.
__attribute__((constructor(101))) static void resolve_real_functions() {
  if (g_real.tryjoin != nullptr) return;
  look_up(g_real.mutex_lock, "pthread_mutex_lock");
  look_up(g_real.mutex_trylock, "pthread_mutex_trylock");
  look_up(g_real.mutex_timedlock, "pthread_mutex_timedlock");
  look_up(g_real.mutex_clocklock, "pthread_mutex_clocklock");
  look_up(g_real.mutex_unlock, "pthread_mutex_unlock");
  look_up(g_real.cond_wait, "pthread_cond_wait", "GLIBC_2.3.2");
  look_up(g_real.cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2");
  look_up(g_real.cond_clockwait, "pthread_cond_clockwait");
  look_up(g_real.cond_signal, "pthread_cond_signal", "GLIBC_2.3.2");
  look_up(g_real.cond_broadcast, "pthread_cond_broadcast", "GLIBC_2.3.2");
  look_up(g_real.sem_wait, "sem_wait");
  look_up(g_real.sem_trywait, "sem_trywait");
  look_up(g_real.sem_timedwait, "sem_timedwait");
  look_up(g_real.sem_clockwait, "sem_clockwait");
  look_up(g_real.sem_post, "sem_post");
  look_up(g_real.create, "pthread_create");
  look_up(g_real.join, "pthread_join");
  look_up(g_real.tryjoin, "pthread_tryjoin_np");
}

static const RealFunctions &real() {
  if (__builtin_expect(g_real.tryjoin == nullptr, 0)) resolve_real_functions();
  return g_real;
}

// The end of a wait on one object. A timed-out wait was a wait, but nobody ended it; other errors are no waits.
static void finish_wait(const Wait &wait, int error, Trust trust) {
  const uint64_t resumed = ticks();
  if (error == 0 || error == EOWNERDEAD)
    write_blocked(wait, find_peer(wait, resumed, trust), resumed);
  else if (error == ETIMEDOUT)
    write_blocked(wait, {0, 0, kPeerUnknown}, resumed);
  end_wait(wait);
}

// Mutexes

template <typename Block>
static int lock_mutex(pthread_mutex_t *mutex, Block block) {
  if (!attached()) return block();
  const int rc = real().mutex_trylock(mutex);
  if (rc != EBUSY) return rc;
  const Wait wait = begin_wait(ObjectClass::kMutex, object_id(mutex));
  const int blocked = block();
  finish_wait(wait, blocked, Trust::kAlways);
  return blocked;
}

VPROF_INTERPOSED int pthread_mutex_lock(pthread_mutex_t *mutex) noexcept {
  return lock_mutex(mutex, [=] { return real().mutex_lock(mutex); });
}

VPROF_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t *__restrict mutex,
                                             const timespec *__restrict until) noexcept {
  return lock_mutex(mutex, [=] { return real().mutex_timedlock(mutex, until); });
}

VPROF_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t *__restrict mutex, clockid_t clock,
                                             const timespec *__restrict until) noexcept {
  return lock_mutex(mutex, [=] { return real().mutex_clocklock(mutex, clock, until); });
}

VPROF_INTERPOSED int pthread_mutex_unlock(pthread_mutex_t *mutex) noexcept {
  if (!attached()) return real().mutex_unlock(mutex);
  const Release release = begin_release(ObjectClass::kMutex, object_id(mutex));
  const int rc = real().mutex_unlock(mutex);
  finish_release(release);
  return rc;
}

// Condition variables. A wait releases the mutex and takes it again: it is woken by the signaller and then by whoever
// has the mutex; the last of the two counts.

static Peer later_peer(const Wait &on_condition, const Wait &on_mutex, uint64_t resumed) {
  const Peer signaller = find_peer(on_condition, resumed, Trust::kOnlyDuringWait);
  const Peer unlocker = find_peer(on_mutex, resumed, Trust::kOnlyDuringWait);
  if (signaller.flags != 0 || unlocker.flags != 0) return signaller;
  return unlocker.time > signaller.time ? unlocker : signaller;
}

template <typename Block>
static int wait_on_condition(pthread_cond_t *condition, pthread_mutex_t *mutex, Block block) {
  if (!attached()) return block();
  const uint64_t mutex_id = object_id(mutex);
  const Wait on_condition = begin_wait(ObjectClass::kCondition, object_id(condition));
  release_with_time(ObjectClass::kMutex, mutex_id, false);
  const Wait on_mutex = begin_wait(ObjectClass::kMutex, mutex_id);
  const int rc = block();
  const uint64_t resumed = ticks();
  const bool woken = rc == 0 || rc == EOWNERDEAD;
  const Peer peer = woken ? later_peer(on_condition, on_mutex, resumed) : Peer{0, 0, kPeerUnknown};
  if (woken || rc == ETIMEDOUT) write_blocked(on_condition, peer, resumed);
  end_wait(on_mutex);
  end_wait(on_condition);
  return rc;
}

VPROF_INTERPOSED int pthread_cond_wait(pthread_cond_t *__restrict condition, pthread_mutex_t *__restrict mutex) {
  return wait_on_condition(condition, mutex, [=] { return real().cond_wait(condition, mutex); });
}

VPROF_INTERPOSED int pthread_cond_timedwait(pthread_cond_t *__restrict condition, pthread_mutex_t *__restrict mutex,
                                            const timespec *__restrict until) {
  return wait_on_condition(condition, mutex, [=] { return real().cond_timedwait(condition, mutex, until); });
}

VPROF_INTERPOSED int pthread_cond_clockwait(pthread_cond_t *__restrict condition, pthread_mutex_t *__restrict mutex,
                                            clockid_t clock, const timespec *__restrict until) {
  return wait_on_condition(condition, mutex, [=] { return real().cond_clockwait(condition, mutex, clock, until); });
}

template <typename Wake>
static int wake_condition(pthread_cond_t *condition, Wake wake) {
  if (!attached()) return wake(condition);
  const Release release = begin_release(ObjectClass::kCondition, object_id(condition));
  const int rc = wake(condition);
  finish_release(release);
  return rc;
}

VPROF_INTERPOSED int pthread_cond_signal(pthread_cond_t *condition) noexcept {
  return wake_condition(condition, real().cond_signal);
}

VPROF_INTERPOSED int pthread_cond_broadcast(pthread_cond_t *condition) noexcept {
  return wake_condition(condition, real().cond_broadcast);
}

// Semaphores

template <typename Block>
static int wait_on_semaphore(sem_t *semaphore, Block block) {
  if (!attached()) return block();
  const int saved_errno = errno;
  if (real().sem_trywait(semaphore) == 0) return 0;
  if (errno != EAGAIN) return -1;
  errno = saved_errno;
  const Wait wait = begin_wait(ObjectClass::kSemaphore, object_id(semaphore));
  const int rc = block();
  finish_wait(wait, rc == 0 ? 0 : errno, Trust::kOnlyDuringWait);
  return rc;
}

VPROF_INTERPOSED int sem_wait(sem_t *semaphore) {
  return wait_on_semaphore(semaphore, [=] { return real().sem_wait(semaphore); });
}

VPROF_INTERPOSED int sem_timedwait(sem_t *__restrict semaphore, const timespec *__restrict until) {
  return wait_on_semaphore(semaphore, [=] { return real().sem_timedwait(semaphore, until); });
}

VPROF_INTERPOSED int sem_clockwait(sem_t *__restrict semaphore, clockid_t clock, const timespec *__restrict until) {
  return wait_on_semaphore(semaphore, [=] { return real().sem_clockwait(semaphore, clock, until); });
}

VPROF_INTERPOSED int sem_post(sem_t *semaphore) noexcept {
  if (!attached()) return real().sem_post(semaphore);
  const Release release = begin_release(ObjectClass::kSemaphore, object_id(semaphore));
  const int rc = real().sem_post(semaphore);
  finish_release(release);
  return rc;
}

// Threads

struct ThreadStart {
  void *(*routine)(void *);
  void *argument;
  Creator creator;
};

static void *start_thread(void *p) {
  const ThreadStart start = *static_cast<ThreadStart *>(p);
  free(p);
  t_thread.creator = start.creator;
  current_slot();  // also a thread without probes has an end, which wakes who joins it
  return start.routine(start.argument);
}

VPROF_INTERPOSED int pthread_create(pthread_t *__restrict thread, const pthread_attr_t *__restrict attributes,
                                    void *(*routine)(void *), void *__restrict argument) noexcept {
  const Slot *slot = attached() ? current_slot() : nullptr;
  ThreadStart *start = slot != nullptr ? static_cast<ThreadStart *>(malloc(sizeof(ThreadStart))) : nullptr;
  if (start == nullptr) return real().create(thread, attributes, routine, argument);
  *start = {routine, argument, {slot->uid, ticks()}};
  const int rc = real().create(thread, attributes, start_thread, start);
  if (rc != 0) free(start);
  return rc;
}

VPROF_INTERPOSED int pthread_join(pthread_t thread, void **result) {
  if (!attached()) return real().join(thread, result);
  const int rc = real().tryjoin(thread, result);
  if (rc != EBUSY) return rc;
  const Wait wait = begin_wait(ObjectClass::kJoin, object_id(reinterpret_cast<void *>(thread)));
  const int joined = real().join(thread, result);
  finish_wait(wait, joined, Trust::kAlways);
  return joined;
}

}  // namespace vprof
