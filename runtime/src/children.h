// Children: a process that ends releases who waits for it, as the last thing it does. Killed, it releases nobody, so
// then the wait has no waker.
#ifndef VPROF_CHILDREN_H
#define VPROF_CHILDREN_H

#include <sys/resource.h>
#include <sys/wait.h>

#include "blocking.h"

namespace vprof {

// As wait4, without waiting.
pid_t wait_now(pid_t child, int *status, int flags, rusage *usage);

void finish_child_wait(const Wait &wait, pid_t ended);

// `now` returns 0 if there are children, but none to tell of.
template <typename Now, typename Make>
pid_t wait_for_child(Now now, Make make) {
  pthread_testcancel();  // as the real call does
  const int saved_errno = errno;
  const pid_t ended = now();
  if (ended > 0) return ended;
  errno = saved_errno;
  if (ended < 0) return make();
  const Wait wait = {ObjectClass::kChild, 0, ticks(), 0, nullptr};
  const pid_t child = within(wait, make);
  finish_child_wait(wait, child);
  return child;
}

// As waitid, without waiting.
int wait_now_as(idtype_t kind, id_t child, siginfo_t *status, int flags);

template <typename Make>
int wait_for_child_as(idtype_t kind, id_t child, siginfo_t *status, int flags, Make make) {
  pthread_testcancel();  // as the real call does
  const int saved_errno = errno;
  const int rc = wait_now_as(kind, child, status, flags);
  if (rc == 0 && status->si_pid != 0) return rc;
  errno = saved_errno;
  if (rc != 0) return make();
  const Wait wait = {ObjectClass::kChild, 0, ticks(), 0, nullptr};
  const int waited = within(wait, make);
  finish_child_wait(wait, waited == 0 ? status->si_pid : -1);
  return waited;
}

// This process ends now: also who waits for what it has open.
void release_parent();

}  // namespace vprof

#endif
