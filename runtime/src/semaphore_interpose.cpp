// Semaphores of POSIX and System V. Named ones (sem_open): mapping_interpose.cpp.
#include <semaphore.h>
#include <string.h>
#include <sys/sem.h>

#include "arguments.h"
#include "blocking.h"
#include "interpose.h"

namespace vprof {

// POSIX. A thread that has waited holds the semaphore until it posts it: true of those that serve as locks. One that
// waits for another's posts, and posts itself now and then, seems to have held it meanwhile.

VPROF_INTERPOSE(int, sem_trywait, (sem_t * semaphore), (semaphore)) {
  const int rc = real_sem_trywait(semaphore);
  if (rc == 0 && attached()) begin_hold(ObjectClass::kSemaphore, object_id(semaphore));
  return rc;
}

template <typename Block>
static int wait_on_semaphore(sem_t *semaphore, Block block) {
  if (!attached()) return block();
  const int saved_errno = errno;
  if (__builtin_expect(real_sem_trywait(semaphore) == 0, 1)) {
    begin_hold(ObjectClass::kSemaphore, object_id(semaphore));
    return 0;
  }
  const bool is_taken = errno == EAGAIN;
  errno = saved_errno;
  if (!is_taken) return block();
  const Wait wait = begin_wait(ObjectClass::kSemaphore, object_id(semaphore));
  const int rc = within(wait, block);
  const int error = errno;
  if (rc == 0) keep_hold(table_key(ObjectClass::kSemaphore, wait.object), wait.began);
  finish_wait(wait, rc == 0 ? 0 : error, Trust::kOnlyDuringWait);
  errno = error;
  return rc;
}

// Of the C library's three only two are cancellation points where the semaphore is free.

VPROF_INTERPOSE(int, sem_wait, (sem_t * semaphore), (semaphore)) {
  if (attached()) pthread_testcancel();
  return wait_on_semaphore(semaphore, [=] { return real_sem_wait(semaphore); });
}

VPROF_INTERPOSE(int, sem_timedwait, (sem_t * semaphore, const timespec *until), (semaphore, until)) {
  if (!attached() || !is_time(until)) return real_sem_timedwait(semaphore, until);
  pthread_testcancel();
  return wait_on_semaphore(semaphore, [=] { return real_sem_timedwait(semaphore, until); });
}

VPROF_INTERPOSE(int, sem_clockwait, (sem_t * semaphore, clockid_t clock, const timespec *until),
                (semaphore, clock, until)) {
  if (!is_time(clock, until)) return real_sem_clockwait(semaphore, clock, until);
  return wait_on_semaphore(semaphore, [=] { return real_sem_clockwait(semaphore, clock, until); });
}

VPROF_INTERPOSE(int, sem_post, (sem_t * semaphore), (semaphore)) {
  return release(ObjectClass::kSemaphore, semaphore, [=] { return real_sem_post(semaphore); });
}

// System V: one object for the waits that a raised value ends, and one for those that a lowered value ends (for zero).

constexpr uint64_t kRaised = 6, kLowered = 7;
constexpr size_t kMaxOperations = 32;

static uint64_t name_of(int set, unsigned short number, uint64_t change) {
  return memory_identity(change << 32 | static_cast<uint32_t>(set), number);
}

// Of the first operation that may wait.
static uint64_t waited_object(int set, const sembuf *operations, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (operations[i].sem_op <= 0)
      return name_of(set, operations[i].sem_num, operations[i].sem_op < 0 ? kRaised : kLowered);
  return name_of(set, 0, kRaised);
}

template <typename Real>
static int operate(int set, sembuf *operations, size_t count, Real real) {
  if (!attached() || count == 0 || count > kMaxOperations || !is_readable(operations, count * sizeof *operations))
    return real(operations);
  Release releases[kMaxOperations];
  size_t released = 0;
  sembuf attempts[kMaxOperations];
  bool may_wait = true;
  for (size_t i = 0; i < count; ++i) {
    attempts[i] = operations[i];
    may_wait &= (operations[i].sem_flg & IPC_NOWAIT) == 0;
    attempts[i].sem_flg = static_cast<short>(operations[i].sem_flg | IPC_NOWAIT);
    if (operations[i].sem_op == 0) continue;
    const uint64_t object = name_of(set, operations[i].sem_num, operations[i].sem_op > 0 ? kRaised : kLowered);
    releases[released++] = begin_release(ObjectClass::kSemaphore, object);
  }
  const int rc = may_wait ? attempt_or_wait(
                                ObjectClass::kSemaphore, waited_object(set, operations, count), EAGAIN,
                                [&] { return real(attempts); }, [&] { return real(operations); })
                          : real(operations);
  for (size_t i = 0; i < released; ++i) finish_release(releases[i]);
  for (size_t i = 0; i < count && rc == 0; ++i)
    if (operations[i].sem_op < 0) begin_hold(ObjectClass::kSemaphore, name_of(set, operations[i].sem_num, kRaised));
  return rc;
}

VPROF_INTERPOSE(int, semop, (int set, sembuf *operations, size_t count), (set, operations, count)) {
  return operate(set, operations, count, [=](sembuf *these) { return real_semop(set, these, count); });
}

VPROF_INTERPOSE(int, semtimedop, (int set, sembuf *operations, size_t count, const timespec *timeout),
                (set, operations, count, timeout)) {
  return operate(set, operations, count, [=](sembuf *these) { return real_semtimedop(set, these, count, timeout); });
}

}  // namespace vprof
