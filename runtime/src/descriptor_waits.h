// Waits for descriptors, and their releases (descriptors.h), around the real calls.
//
// Whether a call waited is known before: a descriptor that may block and is not ready, which poll tells, makes it wait.
// Of reads it is known afterwards while the thread's waits are what they were (off_cpu.h): it was switched. Large
// writes, which may fill a buffer midway, compare the thread's voluntary switches. So what is ready leaves no record,
// and a wait nobody in the profile ended is one all the same.
//
// What is remembered of a descriptor decides what is recorded, and nothing else: it may be another one by now. The only
// call that moves the program's data is the program's own, as it was made.
#ifndef VPROF_DESCRIPTOR_WAITS_H
#define VPROF_DESCRIPTOR_WAITS_H

#include <limits.h>
#include <poll.h>
#include <stddef.h>

#include "blocking.h"
#include "descriptors.h"
#include "off_cpu.h"

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

template <typename Make>
auto read_descriptor(int fd, Make make) {
  const Descriptor d = descriptor(fd);
  if (d.in == 0 || d.kind == DescriptorKind::kLockedFile) return make();
  if (d.kind == DescriptorKind::kStream) release_with_time(ObjectClass::kDescriptor, room(d.in), false);
  if (!d.may_block) return make();
  const bool tells = tells_sleep();
  if (!tells && is_ready(fd, POLLIN)) return make();
  const Wait wait = begin_wait(class_of(d), d.in);
  const auto result = within(wait, make);
  if (tells && !was_switched()) {
    end_wait(wait);
    return result;
  }
  if (result > PIPE_BUF) look_away();  // to copy so much takes some CPU: not only a sleep
  finish_call(wait, result < 0, fd);
  return result;
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
  if (waited) {
    look_away();  // not only a sleep, nor one
    finish_call(wait, result < 0, fd);
  } else {
    end_wait(wait);
  }
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
