#include "descriptor_waits.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "raw_syscall.h"
#include "restriction.h"
#include "system_calls.h"

namespace vprof {

bool is_ready(int fd, short events) {
  if (is_restricted()) return true;
  const int saved_errno = errno;
  pollfd file = {fd, events, 0};
  const long ready = poll_now(&file, 1);
  errno = saved_errno;
  return ready != 0;  // also if it cannot be told
}

bool waits_by_its_flags(int fd) {
  if (is_restricted()) return true;
  const bool waits = (vprof_raw_syscall(SYS_fcntl, long{fd}, long{F_GETFL}) & O_NONBLOCK) == 0;
  if (!waits) set_may_block(fd, false);
  return waits;
}

long voluntary_switches() {
  rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

}  // namespace vprof
