// Waits for descriptors, and their releases (descriptors.h), around the real calls.
//
// Whether a call waited is known before: a descriptor that may block and is not ready makes it wait. Sockets are tried
// without waiting (MSG_DONTWAIT), others are asked by poll, and large writes, which may fill a buffer midway, compare
// the thread's voluntary switches. So what is ready leaves no record, and a wait nobody in the profile ended is one all
// the same.
#ifndef VPROF_DESCRIPTOR_WAITS_H
#define VPROF_DESCRIPTOR_WAITS_H

#include <limits.h>
#include <poll.h>
#include <stddef.h>

#include "blocking.h"
#include "descriptors.h"

namespace vprof {

// Asks the kernel; errno is kept.
bool is_ready(int fd, short events);
bool waits_by_its_flags(int fd);
long voluntary_switches();

inline ObjectClass class_of(const Descriptor &d) {
  return d.kind == DescriptorKind::kSignals ? ObjectClass::kSignal : ObjectClass::kDescriptor;
}

// EAGAIN after a wait is a timeout (SO_RCVTIMEO), unless somebody else has set O_NONBLOCK.
inline void finish_call(const Wait &wait, bool failed, int fd) {
  const int error = errno;
  if (!failed)
    finish_wait(wait, 0, Trust::kOnlyDuringWait);
  else if (error == EAGAIN && waits_by_its_flags(fd))
    finish_wait(wait, ETIMEDOUT, Trust::kOnlyDuringWait);
  else
    finish_wait(wait, error, Trust::kOnlyDuringWait);
  errno = error;
}

// `attempt` is the call without waiting, or says EAGAIN if it may have to wait.
template <typename Attempt, typename Make>
auto read_trying(int fd, const Descriptor &d, Attempt attempt, Make make) {
  pthread_testcancel();  // as the real call does
  const int saved_errno = errno;
  auto result = attempt();
  if (result < 0 && errno == EAGAIN) {
    errno = saved_errno;
    const Wait wait = begin_wait(class_of(d), d.in);
    result = within(wait, make);
    finish_call(wait, result < 0, fd);
  }
  return result;
}

template <typename Attempt, typename Make>
auto read_descriptor(int fd, Attempt attempt, Make make) {
  const Descriptor d = descriptor(fd);
  if (d.in == 0 || d.kind == DescriptorKind::kLockedFile) return make();
  if (d.kind == DescriptorKind::kStream) release_with_time(ObjectClass::kDescriptor, room(d.in), false);
  return d.may_block ? read_trying(fd, d, attempt, make) : make();
}

// For calls that cannot be tried.
template <typename Make>
auto read_descriptor(int fd, Make make) {
  const auto attempt = [&]() -> decltype(make()) {
    if (is_ready(fd, POLLIN)) return make();
    errno = EAGAIN;
    return -1;
  };
  return read_descriptor(fd, attempt, make);
}

template <typename Make>
auto write_and_wait(int fd, const Descriptor &d, size_t size, Make make) {
  if (size <= PIPE_BUF && is_ready(fd, POLLOUT)) return make();
  const long before = voluntary_switches();
  const Wait wait = begin_wait(ObjectClass::kDescriptor, room(d.out));
  const auto result = within(wait, make);
  const int error = errno;
  const bool waited = voluntary_switches() != before;
  errno = error;
  if (waited)
    finish_call(wait, result < 0, fd);
  else
    end_wait(wait);
  return result;
}

template <typename Make>
auto write_descriptor(int fd, size_t size, Make make, bool may_wait = true) {
  const Descriptor d = descriptor(fd);
  if (d.out == 0) return make();
  release_with_time(ObjectClass::kDescriptor, d.out, false);
  return d.may_block && may_wait ? write_and_wait(fd, d, size, make) : make();
}

}  // namespace vprof

#endif
