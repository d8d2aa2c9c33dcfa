// The ends of a process: exit, _exit, quick_exit (children.h). The waits are in external_calls.h.
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "children.h"
#include "descriptors.h"
#include "interpose.h"
#include "raw_syscall.h"
#include "restriction.h"
#include "signals.h"
#include "vfork.h"

namespace vprof {

pid_t wait_now(pid_t child, int *status, int flags, rusage *usage) {
  return static_cast<pid_t>(vprof_raw_syscall(SYS_wait4, long{child}, status, long{flags | WNOHANG}, usage));
}

int wait_now_as(idtype_t kind, id_t child, siginfo_t *status, int flags) {
  return static_cast<int>(vprof_raw_syscall(SYS_waitid, static_cast<long>(kind), static_cast<long>(child), status,
                                            long{flags | WNOHANG}, nullptr));
}

void finish_child_wait(const Wait &wait, pid_t ended) {
  const int error = errno;
  const uint64_t resumed = ticks();
  Wait named = wait;
  if (ended > 0) {
    named.object = process_target(static_cast<uint64_t>(ended));
    write_blocked(named, released_within(ObjectClass::kChild, named.object, wait.began, resumed), resumed);
  } else if (error == EINTR) {
    write_blocked(named, sender_of_signal(wait.began, resumed), resumed);
  }
  errno = error;
}

// A child of vfork shares our memory, but neither the number nor the descriptors.
void release_parent() {
  if (!attached()) return;
  const int saved_errno = errno;
  uint64_t process = g_session.pid;
  if (!vprof_in_vfork_child)
    release_all_descriptors();
  else if (!is_restricted())
    process = static_cast<uint64_t>(vprof_raw_syscall(SYS_getpid));
  release_with_time(ObjectClass::kChild, process_target(process), true);
  errno = saved_errno;
}

// exit ends here: this library's destructors come after those of what uses it.
__attribute__((destructor(101))) static void at_end() {
  release_parent();
}

// The first registered runs last.
__attribute__((constructor(101))) static void at_start() {
  at_quick_exit(release_parent);
}

VPROF_INTERPOSE(void, _exit, (int status), (status)) {
  release_parent();
  real__exit(status);
}

VPROF_INTERPOSE(void, _Exit, (int status), (status)) {
  release_parent();
  real__Exit(status);
}

}  // namespace vprof
