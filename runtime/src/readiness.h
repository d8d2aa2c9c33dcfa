// Waits for one of several descriptors: poll, select, epoll.
//
//     first without waiting; then watch each descriptor, wait, and name who stamped one that became ready
//
// While the thread's waits are what they were (off_cpu.h), the first is left out: a call in which the thread was not
// switched has not waited, and leaves nothing.
//
// Of the descriptors that became ready the latest stamp within the wait counts. Those of an epoll are known if they
// were added by the C library's epoll_ctl in this process or before its fork; 16,384 at a time, the oldest are
// forgotten.
#ifndef VPROF_READINESS_H
#define VPROF_READINESS_H

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "arguments.h"
#include "blocking.h"
#include "descriptors.h"
#include "off_cpu.h"

namespace vprof {

// Makes what `fd` waits for known to those who release it.
void watch(int fd, bool reading, bool writing);

class ReadinessWait {
 public:
  ReadinessWait() : wait_{ObjectClass::kDescriptor, 0, event_ticks(t_thread.slot), 0, nullptr} {}

  const Wait &wait() const { return wait_; }

  // `fd` became ready.
  void found(int fd, bool reading, bool writing);
  // Of epoll_wait.
  void found(int poller, const epoll_event &event);
  // `result` as poll returned it, with errno.
  void finish(long result);

 private:
  void consider(ObjectClass cls, uint64_t object);

  Wait wait_;
  uint64_t resumed_ = 0;
  Peer peer_ = kNobody;
};

void remember_in_epoll(int poller, int fd, const epoll_event *event);

// Without waiting, a cancellation point as the real call is. 0: it has to wait; negative: the real call says why it
// fails. Then errno is kept. With `tells` it is the real call's turn at once.
template <typename Now>
int try_first(bool tells, Now now) {
  if (tells) return 0;
  pthread_testcancel();
  const int saved_errno = errno;
  const int ready = now();
  if (ready <= 0) errno = saved_errno;
  return ready;
}

template <typename Now, typename Make>
int poll_descriptors(pollfd *files, nfds_t count, bool may_wait, Now now, Make make) {
  if (!may_wait || count == 0) return make();
  const bool tells = tells_sleep();
  if (const int ready = try_first(tells, now)) return ready > 0 ? ready : make();
  for (nfds_t i = 0; i < count; ++i) watch(files[i].fd, files[i].events & POLLIN, files[i].events & POLLOUT);
  ReadinessWait wait;
  const int result = within(wait.wait(), make);
  if (tells && !was_switched()) return result;
  const int error = errno;
  for (nfds_t i = 0; result > 0 && i < count; ++i)
    if (files[i].revents != 0)
      wait.found(files[i].fd, files[i].revents & (POLLIN | POLLHUP | POLLERR), files[i].revents & POLLOUT);
  errno = error;
  wait.finish(result);
  return result;
}

template <typename Now, typename Make>
int poll_epoll(int poller, const epoll_event *found, bool may_wait, Now now, Make make) {
  if (!may_wait) return make();
  const bool tells = tells_sleep();
  if (const int ready = try_first(tells, now)) return ready > 0 ? ready : make();
  ReadinessWait wait;
  const int result = within(wait.wait(), make);
  if (tells && !was_switched()) return result;
  const int error = errno;
  for (int i = 0; i < result; ++i) wait.found(poller, found[i]);
  errno = error;
  wait.finish(result);
  return result;
}

// `now` and `make` take the sets that they change: as many words as hold `count` bits, the program may have no more.
template <typename Now, typename Make>
int select_descriptors(int count, fd_set *in, fd_set *out, fd_set *odd, bool may_wait, Now now, Make make) {
  if (!may_wait || count <= 0 || count > FD_SETSIZE) return make();
  fd_set asked[3];
  fd_set *const sets[3] = {in, out, odd};
  const size_t bytes = (static_cast<size_t>(count) + NFDBITS - 1) / NFDBITS * sizeof(fd_mask);
  for (const fd_set *set : sets)
    if (set != nullptr && !is_readable(set, bytes)) return make();
  for (int k = 0; k < 3; ++k)
    if (sets[k] != nullptr) memcpy(&asked[k], sets[k], bytes);
  const bool tells = tells_sleep();
  if (const int ready = try_first(tells, now)) return ready > 0 ? ready : make();
  for (int k = 0; k < 3; ++k)
    if (sets[k] != nullptr) memcpy(sets[k], &asked[k], bytes);
  const auto is_in = [](const fd_set *set, int fd) { return set != nullptr && FD_ISSET(fd, set); };
  for (int fd = 0; fd < count; ++fd)
    if (is_in(in, fd) || is_in(out, fd)) watch(fd, is_in(in, fd), is_in(out, fd));
  ReadinessWait wait;
  const int result = within(wait.wait(), make);
  if (tells && !was_switched()) return result;
  const int error = errno;
  for (int fd = 0; result > 0 && fd < count; ++fd)
    if (is_in(in, fd) || is_in(out, fd)) wait.found(fd, is_in(in, fd), is_in(out, fd));
  errno = error;
  wait.finish(result);
  return result;
}

}  // namespace vprof

#endif
