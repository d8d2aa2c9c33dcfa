// Futexes by syscall(2): what libstdc++ builds std::future, std::atomic::wait, std::latch, std::barrier, std::semaphore
// and the initialisation of variables in functions of, and programs their own locks.
//
// A wait that finds another value than expected was none. Waiters that are moved to another futex are woken there.
// Not seen: futexes of libc itself, and of futex_waitv.
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "aio_calls.h"
#include "arguments.h"
#include "blocking.h"
#include "children.h"
#include "descriptors.h"
#include "interpose.h"
#include "raw_syscall.h"
#include "restriction.h"
#include "signals.h"
#include "system_calls.h"
#include "uring.h"

extern "C" __attribute__((visibility("hidden"))) long vprof_failed_syscall(long result) {
  errno = static_cast<int>(-result);
  return -1;
}

namespace vprof {

struct FutexCall {
  long address;
  long operation;
  long value;
  long timeout;  // or a number
  long address2;
  long value3;

  int command() const { return static_cast<int>(operation) & FUTEX_CMD_MASK; }
  long make() const { return make_as(command()); }
  long make_as(int other) const {
    const long op = (operation & ~static_cast<long>(FUTEX_CMD_MASK)) | other;
    return vprof_raw_syscall(SYS_futex, address, op, value, timeout, address2, value3);
  }
};

static uint64_t name_of(long address) {
  return object_id(static_cast<uint64_t>(address));
}

// If waiters were moved since we came, whoever released the other futex then is the waker.
static Peer waker(const Wait &wait, uint64_t resumed) {
  const Peer peer = find_peer(wait, resumed, Trust::kOnlyDuringWait);
  const uint64_t moved = wait.entry != nullptr ? wait.entry->futex.requeued_at.load(std::memory_order_acquire) : 0;
  if (moved < wait.began) return peer;
  const uint64_t target = wait.entry->futex.requeued_to.load(std::memory_order_relaxed);
  return later(peer, released_within(ObjectClass::kFutex, target, moved, resumed));
}

static long wait_on(const FutexCall &call) {
  const Wait wait = begin_wait(ObjectClass::kFutex, name_of(call.address));
  const long rc = call.make();
  const uint64_t resumed = ticks();
  const int error = errno;
  if (rc >= 0)
    write_blocked(wait, waker(wait, resumed), resumed);
  else if (error == ETIMEDOUT)
    write_blocked(wait, kTimedOut, resumed);
  else if (error == EINTR)
    write_blocked(wait, sender_of_signal(wait.began, resumed), resumed);
  end_wait(wait);
  errno = error;
  return rc;
}

static long lock(const FutexCall &call) {
  const int saved_errno = errno;
  const long tried = call.make_as(FUTEX_TRYLOCK_PI);
  if (tried >= 0) return tried;
  const bool is_taken = errno == EAGAIN;
  errno = saved_errno;
  return is_taken ? wait_on(call) : call.make();
}

static long wake(const FutexCall &call) {
  release_with_time(ObjectClass::kFutex, name_of(call.address), false);
  return call.make();
}

static long wake_both(const FutexCall &call) {
  release_with_time(ObjectClass::kFutex, name_of(call.address2), false);
  return wake(call);
}

// The target's entry must be there before the move: whoever wakes there stamps it. Waiters of the source are told by
// its entry; if it has none there are none.
static long requeue(const FutexCall &call) {
  const uint64_t target = name_of(call.address2);
  ObjectEntry *from = g_session.arena->objects.find(table_key(ObjectClass::kFutex, name_of(call.address)));
  if (from != nullptr) {
    entry_of(ObjectClass::kFutex, target);
    from->futex.requeued_to.store(target, std::memory_order_relaxed);
    from->futex.requeued_at.store(ticks(), std::memory_order_release);
  }
  return wake(call);
}

// Numbers of descriptors that are others' afterwards.
static void note_closed(long number, long a, long b) {
  if (number == SYS_close)
    forget_descriptor(static_cast<int>(a));
  else if (copies_descriptor(number))
    forget_descriptor(static_cast<int>(b));
  else if (number == SYS_close_range)
    forget_descriptors(static_cast<unsigned>(a), static_cast<unsigned>(b));
}

static long futex(const FutexCall &call) {
  switch (call.command()) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
      return wait_on(call);
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
      return lock(call);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_UNLOCK_PI:
      return wake(call);
    case FUTEX_WAKE_OP:
      return wake_both(call);
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
    case FUTEX_CMP_REQUEUE_PI:
      return requeue(call);
    default:
      return call.make();
  }
}

// Not variadic as syscall is declared, which is the same to callers: all arguments are passed on as they came.
VPROF_WRAPPER(long, syscall, (long number, long a, long b, long c, long d, long e, long f), VPROF_LABEL("syscall")) {
  if (__builtin_expect(attached(), 0)) {
    if (number == SYS_futex) return futex({a, b, c, d, e, f});
    if (is_aio_call(number)) return aio_call(number, a, b, c, d, e, f);
    if (is_ring_call(number)) return ring_call(number, a, b, c, d, e, f);
    if (number == SYS_exit_group) release_parent();
    if (number == SYS_seccomp && (a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT))
      will_restrict(a == SECCOMP_SET_MODE_FILTER, reinterpret_cast<const sock_fprog *>(c));
    note_closed(number, a, b);
    note_signal_sent(number, a, b);
  }
  return vprof_raw_syscall(number, a, b, c, d, e, f);
}

}  // namespace vprof
