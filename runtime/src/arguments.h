// What a wrapper may take for granted of a call's arguments before the real function has checked them.
#ifndef VPROF_ARGUMENTS_H
#define VPROF_ARGUMENTS_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#include "raw_syscall.h"
#include "restriction.h"
#include "thread.h"

namespace vprof {

// Whether every function takes it for a time; what some refuse must come to the real one.
inline bool is_time(const timespec *time) {
  return time != nullptr && time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}
inline bool is_time(clockid_t clock, const timespec *until) {
  return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_time(until);
}

// Whether there is memory: the kernel answers a bad address by EFAULT, so nobody may read it before. A mask of signals
// is read before it is known to be for nothing. errno is kept.
inline bool is_readable(const void *p, size_t size) {
  if (is_restricted()) return true;
  const int saved_errno = errno;
  constexpr long kNoChange = -1, kWord = 8;
  const auto can_read = [](uintptr_t word) {
    if (word == 0) return false;  // to the kernel it is no mask
    return vprof_raw_syscall(SYS_rt_sigprocmask, kNoChange, word, nullptr, kWord) == 0 || errno != EFAULT;
  };
  const uintptr_t first = reinterpret_cast<uintptr_t>(p) & ~uintptr_t{kWord - 1};
  const uintptr_t last = (reinterpret_cast<uintptr_t>(p) + size - 1) & ~uintptr_t{kWord - 1};
  constexpr uintptr_t kPageOf = ~uintptr_t{4095};
  const bool readable = can_read(first) && ((first & kPageOf) == (last & kPageOf) || can_read(last));
  errno = saved_errno;
  return readable;
}

// Before prctl or seccomp with this filter, if it is by one: libraries ask with none whether there are filters.
inline void will_restrict(bool by_filter, const sock_fprog *filter) {
  if (!by_filter) {
    silence();
    restrict_system_calls(nullptr);
  } else if (is_readable(filter, sizeof *filter) && is_readable(filter->filter, filter->len * sizeof(sock_filter)))
    restrict_system_calls(filter);
}

}  // namespace vprof

#endif
