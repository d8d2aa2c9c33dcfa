// System calls that not every processor's Linux has, and what seccomp(2) calls this one's.
#ifndef VPROF_SYSTEM_CALLS_H
#define VPROF_SYSTEM_CALLS_H

#include <linux/audit.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>

#include <cstdint>

#include "raw_syscall.h"

namespace vprof {

constexpr uint32_t kAuditArchitecture = AUDIT_ARCH_AARCH64;

// Without waiting. -1 with errno set if they fail. No signal mask, so its size does not matter.
inline long poll_now(pollfd *files, nfds_t count) {
  timespec zero = {0, 0};
  return vprof_raw_syscall(SYS_ppoll, files, count, &zero, nullptr, 0l);
}
inline long epoll_wait_now(int poller, epoll_event *found, int most) {
  return vprof_raw_syscall(SYS_epoll_pwait, long{poller}, found, long{most}, 0l, nullptr, 0l);
}

// Whether it makes its second argument a copy of its first.
constexpr bool copies_descriptor(long number) {
  return number == SYS_dup3;
}

}  // namespace vprof

#endif
