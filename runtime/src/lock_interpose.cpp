// Mutexes, read-write locks and spin locks, of POSIX and C11. std::mutex, std::shared_mutex and the timed and recursive
// ones are made of these.
//
// A spin lock that is not had at once is a wait as well, though the thread runs: who holds it is whom it waits for.
// Of a mutex whose owner died nobody is the waker.
#include <threads.h>

#include "arguments.h"
#include "blocking.h"
#include "interpose.h"

namespace vprof {

// POSIX mutexes

VPROF_INTERPOSE(int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex)) {
  return try_to_acquire(ObjectClass::kMutex, mutex, [=] { return real_pthread_mutex_trylock(mutex); });
}

VPROF_INTERPOSE(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex)) {
  return acquire(
      ObjectClass::kMutex, mutex, Trust::kAlways, [=] { return real_pthread_mutex_trylock(mutex); },
      [=] { return real_pthread_mutex_lock(mutex); });
}

VPROF_INTERPOSE(int, pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec *until), (mutex, until)) {
  if (!is_time(until)) return real_pthread_mutex_timedlock(mutex, until);
  return acquire(
      ObjectClass::kMutex, mutex, Trust::kAlways, [=] { return real_pthread_mutex_trylock(mutex); },
      [=] { return real_pthread_mutex_timedlock(mutex, until); });
}

VPROF_INTERPOSE(int, pthread_mutex_clocklock, (pthread_mutex_t * mutex, clockid_t clock, const timespec *until),
                (mutex, clock, until)) {
  if (!is_time(clock, until)) return real_pthread_mutex_clocklock(mutex, clock, until);
  return acquire(
      ObjectClass::kMutex, mutex, Trust::kAlways, [=] { return real_pthread_mutex_trylock(mutex); },
      [=] { return real_pthread_mutex_clocklock(mutex, clock, until); });
}

VPROF_INTERPOSE(int, pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex)) {
  return release(ObjectClass::kMutex, mutex, [=] { return real_pthread_mutex_unlock(mutex); });
}

// C11 mutexes

VPROF_INTERPOSE(int, mtx_trylock, (mtx_t * mutex), (mutex)) {
  const int tried = real_mtx_trylock(mutex);
  if (tried == thrd_success && attached()) begin_hold(ObjectClass::kMutex, object_id(mutex));
  return tried;
}

template <typename Block>
static int lock_c11(mtx_t *mutex, Block block) {
  if (!attached()) return block();
  const int tried = real_mtx_trylock(mutex);
  if (__builtin_expect(tried == thrd_success, 1)) begin_hold(ObjectClass::kMutex, object_id(mutex));
  if (tried == thrd_success) return tried;
  if (tried != thrd_busy) return block();
  const Wait wait = begin_wait(ObjectClass::kMutex, object_id(mutex));
  const int rc = block();
  if (rc == thrd_success) keep_hold(table_key(ObjectClass::kMutex, wait.object), wait.began);
  finish_wait(wait, rc == thrd_success ? 0 : rc == thrd_timedout ? ETIMEDOUT : EINVAL, Trust::kAlways);
  return rc;
}

VPROF_INTERPOSE(int, mtx_lock, (mtx_t * mutex), (mutex)) {
  return lock_c11(mutex, [=] { return real_mtx_lock(mutex); });
}

VPROF_INTERPOSE(int, mtx_timedlock, (mtx_t * mutex, const timespec *until), (mutex, until)) {
  if (!is_time(until)) return real_mtx_timedlock(mutex, until);
  return lock_c11(mutex, [=] { return real_mtx_timedlock(mutex, until); });
}

VPROF_INTERPOSE(int, mtx_unlock, (mtx_t * mutex), (mutex)) {
  return release(ObjectClass::kMutex, mutex, [=] { return real_mtx_unlock(mutex); });
}

// Spin locks

VPROF_INTERPOSE(int, pthread_spin_trylock, (pthread_spinlock_t * lock), (lock)) {
  const void *object = const_cast<const int *>(lock);
  return try_to_acquire(ObjectClass::kSpinLock, object, [=] { return real_pthread_spin_trylock(lock); });
}

VPROF_INTERPOSE(int, pthread_spin_lock, (pthread_spinlock_t * lock), (lock)) {
  const void *object = const_cast<const int *>(lock);
  return acquire(
      ObjectClass::kSpinLock, object, Trust::kAlways, [=] { return real_pthread_spin_trylock(lock); },
      [=] { return real_pthread_spin_lock(lock); });
}

VPROF_INTERPOSE(int, pthread_spin_unlock, (pthread_spinlock_t * lock), (lock)) {
  const void *object = const_cast<const int *>(lock);
  return release(ObjectClass::kSpinLock, object, [=] { return real_pthread_spin_unlock(lock); });
}

// Read-write locks. Their two sides have entries of their own: a reader waits for a writer to leave, a writer for a
// writer or for the last reader out, who stamps last. Else a quick reader's unlock would seem to wake a slow one.

static uint64_t read_side(uint64_t lock) {
  return ~lock;
}

// The caller holds the lock, or was refused it: whether a writer has it (bits/struct_rwlock.h).
static bool has_writer(const pthread_rwlock_t *lock) {
  return __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED) != 0;
}

// A reader is refused because a writer has the lock. One that prefers writers also refuses while one waits, who may
// give up.
static Trust trust_of_readers(const pthread_rwlock_t *lock) {
  return lock->__data.__flags == PTHREAD_RWLOCK_PREFER_READER_NP ? Trust::kAlways : Trust::kOnlyDuringWait;
}

VPROF_INTERPOSE(int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock)) {
  const int tried = real_pthread_rwlock_tryrdlock(lock);
  if (tried == 0 && attached()) begin_hold(ObjectClass::kReadWriteLock, read_side(object_id(lock)));
  return tried;
}

VPROF_INTERPOSE(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock)) {
  return try_to_acquire(ObjectClass::kReadWriteLock, lock, [=] { return real_pthread_rwlock_trywrlock(lock); });
}

// Each side is held by its own threads.
static void hold_side(uint64_t side, uint64_t since) {
  keep_hold(table_key(ObjectClass::kReadWriteLock, side), since);
}

template <typename Block>
static int lock_for_reading(pthread_rwlock_t *lock, Block block) {
  if (!attached()) return block();
  const int tried = real_pthread_rwlock_tryrdlock(lock);
  if (__builtin_expect(tried == 0, 1)) begin_hold(ObjectClass::kReadWriteLock, read_side(object_id(lock)));
  if (__builtin_expect(tried == 0, 1)) return 0;
  if (tried != EBUSY) return block();
  const Wait wait = begin_wait(ObjectClass::kReadWriteLock, object_id(lock));
  const int rc = block();
  if (rc == 0) hold_side(read_side(wait.object), wait.began);
  finish_wait(wait, rc, trust_of_readers(lock));
  return rc;
}

// Who let a writer in: the later of both sides' releases during the wait. Else the release had been stamped before the
// wait was announced: by who had the lock then.
static Peer last_out(const Wait &on_writer, const Wait &on_readers, bool writer_had_it, uint64_t resumed) {
  const Peer seen = later(find_peer(on_writer, resumed, Trust::kOnlyDuringWait),
                          find_peer(on_readers, resumed, Trust::kOnlyDuringWait));
  if (!(seen.flags & kPeerUnknown)) return seen;
  const Peer writer = find_peer(on_writer, resumed, Trust::kAlways);
  if (writer_had_it) return writer;
  const Peer reader = find_peer(on_readers, resumed, Trust::kAlways);
  return reader.flags & kPeerUnknown ? writer : reader;
}

template <typename Block>
static int lock_for_writing(pthread_rwlock_t *lock, Block block) {
  if (!attached()) return block();
  const int tried = real_pthread_rwlock_trywrlock(lock);
  if (__builtin_expect(tried == 0, 1)) begin_hold(ObjectClass::kReadWriteLock, object_id(lock));
  if (__builtin_expect(tried == 0, 1)) return 0;
  if (tried != EBUSY) return block();
  const bool writer_has_it = has_writer(lock);
  const uint64_t name = object_id(lock);
  const Wait on_readers = begin_wait(ObjectClass::kReadWriteLock, read_side(name));
  const Wait on_writer = begin_wait(ObjectClass::kReadWriteLock, name);
  const int rc = block();
  const uint64_t resumed = ticks();
  if (rc == 0) hold_side(name, on_readers.began);
  if (rc == 0)
    write_blocked(on_writer, last_out(on_writer, on_readers, writer_has_it, resumed), resumed);
  else if (rc == ETIMEDOUT)
    write_blocked(on_writer, kTimedOut, resumed);
  end_wait(on_writer);
  end_wait(on_readers);
  return rc;
}

VPROF_INTERPOSE(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock)) {
  return lock_for_reading(lock, [=] { return real_pthread_rwlock_rdlock(lock); });
}

VPROF_INTERPOSE(int, pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const timespec *until), (lock, until)) {
  if (!is_time(until)) return real_pthread_rwlock_timedrdlock(lock, until);
  return lock_for_reading(lock, [=] { return real_pthread_rwlock_timedrdlock(lock, until); });
}

VPROF_INTERPOSE(int, pthread_rwlock_clockrdlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec *until),
                (lock, clock, until)) {
  if (!is_time(clock, until)) return real_pthread_rwlock_clockrdlock(lock, clock, until);
  return lock_for_reading(lock, [=] { return real_pthread_rwlock_clockrdlock(lock, clock, until); });
}

VPROF_INTERPOSE(int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock)) {
  return lock_for_writing(lock, [=] { return real_pthread_rwlock_wrlock(lock); });
}

VPROF_INTERPOSE(int, pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const timespec *until), (lock, until)) {
  if (!is_time(until)) return real_pthread_rwlock_timedwrlock(lock, until);
  return lock_for_writing(lock, [=] { return real_pthread_rwlock_timedwrlock(lock, until); });
}

VPROF_INTERPOSE(int, pthread_rwlock_clockwrlock, (pthread_rwlock_t * lock, clockid_t clock, const timespec *until),
                (lock, clock, until)) {
  if (!is_time(clock, until)) return real_pthread_rwlock_clockwrlock(lock, clock, until);
  return lock_for_writing(lock, [=] { return real_pthread_rwlock_clockwrlock(lock, clock, until); });
}

VPROF_INTERPOSE(int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock)) {
  if (!attached()) return real_pthread_rwlock_unlock(lock);
  const uint64_t name = object_id(lock);
  return release_by(ObjectClass::kReadWriteLock, has_writer(lock) ? name : read_side(name),
                    [=] { return real_pthread_rwlock_unlock(lock); });
}

}  // namespace vprof
