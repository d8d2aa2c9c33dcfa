// Functions that make, copy and end descriptors, set how they wait, and lock files; POSIX and System V message queues.
// What has a site besides is in external_calls.h.
#include <fcntl.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arguments.h"
#include "descriptor_waits.h"
#include "interpose.h"
#include "raw_syscall.h"
#include "readiness.h"

namespace vprof {

// Made and copied

VPROF_INTERPOSE(int, socket, (int family, int type, int protocol), (family, type, protocol)) {
  const int fd = real_socket(family, type, protocol);
  if (attached()) forget_descriptor(fd);
  return fd;
}

VPROF_INTERPOSE(int, listen, (int fd, int most), (fd, most)) {
  if (attached()) forget_descriptor(fd);
  return real_listen(fd, most);
}

VPROF_INTERPOSE(int, socketpair, (int family, int type, int protocol, int pair[2]), (family, type, protocol, pair)) {
  const int rc = real_socketpair(family, type, protocol, pair);
  if (rc == 0 && attached()) enter_pair(pair[0], pair[1]);
  return rc;
}

static int made_pipe(int rc, const int pair[2]) {
  if (rc != 0 || !attached()) return rc;
  forget_descriptor(pair[0]);
  forget_descriptor(pair[1]);
  return rc;
}

VPROF_INTERPOSE(int, pipe, (int pair[2]), (pair)) {
  return made_pipe(real_pipe(pair), pair);
}

VPROF_INTERPOSE(int, pipe2, (int pair[2], int flags), (pair, flags)) {
  return made_pipe(real_pipe2(pair, flags), pair);
}

VPROF_INTERPOSE(int, eventfd, (unsigned value, int flags), (value, flags)) {
  const int fd = real_eventfd(value, flags);
  if (fd >= 0 && attached()) enter_eventfd(fd);
  return fd;
}

VPROF_INTERPOSE(int, signalfd, (int fd, const sigset_t *signals, int flags), (fd, signals, flags)) {
  const int made = real_signalfd(fd, signals, flags);
  if (made >= 0 && attached()) enter_signalfd(made);
  return made;
}

static int copied(int from, int to) {
  if (to >= 0 && attached()) copy_descriptor(from, to);
  return to;
}

VPROF_INTERPOSE(int, dup, (int fd), (fd)) {
  return copied(fd, real_dup(fd));
}

VPROF_INTERPOSE(int, dup2, (int fd, int to), (fd, to)) {
  return copied(fd, real_dup2(fd, to));
}

VPROF_INTERPOSE(int, dup3, (int fd, int to, int flags), (fd, to, flags)) {
  return copied(fd, real_dup3(fd, to, flags));
}

VPROF_INTERPOSE(int, fclose, (FILE * file), (file)) {
  if (attached() && file != nullptr) forget_descriptor(fileno(file));
  return real_fclose(file);
}

// Closes a range, or all from one on. Flags may leave them open (CLOSE_RANGE_CLOEXEC): they are looked at again then.

VPROF_INTERPOSE(int, close_range, (unsigned first, unsigned last, int flags), (first, last, flags)) {
  if (attached()) forget_descriptors(first, last);
  return real_close_range(first, last, flags);
}

VPROF_INTERPOSE(void, closefrom, (int first), (first)) {
  if (attached()) forget_descriptors(first > 0 ? static_cast<unsigned>(first) : 0, ~0u);
  real_closefrom(first);
}

// The number stays that of the file, or becomes another.
template <typename Make>
static FILE *reopened(FILE *file, Make make) {
  if (attached() && file != nullptr) forget_descriptor(fileno(file));
  FILE *const opened = make();
  if (attached() && opened != nullptr) forget_descriptor(fileno(opened));
  return opened;
}

VPROF_INTERPOSE(FILE *, freopen, (const char *path, const char *mode, FILE *file), (path, mode, file)) {
  return reopened(file, [=] { return real_freopen(path, mode, file); });
}

VPROF_INTERPOSE(FILE *, freopen64, (const char *path, const char *mode, FILE *file), (path, mode, file)) {
  return reopened(file, [=] { return real_freopen64(path, mode, file); });
}

VPROF_INTERPOSE(int, pclose, (FILE * file), (file)) {
  if (attached() && file != nullptr) forget_descriptor(fileno(file));
  return real_pclose(file);
}

VPROF_INTERPOSE(int, mq_close, (mqd_t queue), (queue)) {
  if (attached()) forget_descriptor(queue);
  return real_mq_close(queue);
}

VPROF_INTERPOSE(int, epoll_ctl, (int poller, int operation, int fd, epoll_event *event),
                (poller, operation, fd, event)) {
  if (attached() && operation != EPOLL_CTL_DEL) remember_in_epoll(poller, fd, event);
  return real_epoll_ctl(poller, operation, fd, event);
}

// Flags and locks

static int change_lock(int fd, int command, void *lock, int (*real)(int, int, void *)) {
  const auto *range = static_cast<const struct flock *>(lock);
  const uint64_t object = is_readable(lock, sizeof *range) ? enter_locked_file(fd) : 0;
  if (object == 0) return real(fd, command, lock);
  if (range->l_type == F_UNLCK)
    return release_by(ObjectClass::kFileLock, object, [=] { return real(fd, command, lock); });
  if (command == F_SETLK || command == F_OFD_SETLK) return real(fd, command, lock);
  pthread_testcancel();  // as the real call does
  const long attempt = command == F_SETLKW ? F_SETLK : F_OFD_SETLK;
  const int rc = attempt_or_wait(
      ObjectClass::kFileLock, object, EAGAIN,
      [=] { return static_cast<int>(vprof_raw_syscall(SYS_fcntl, long{fd}, attempt, lock)); },
      [=] { return real(fd, command, lock); });
  if (rc == 0) begin_hold(ObjectClass::kFileLock, object);
  return rc;
}

// The argument that a command has not is passed on as it came, and not read.
static int control(int fd, int command, void *argument, int (*real)(int, int, void *)) {
  if (!attached()) return real(fd, command, argument);
  switch (command) {
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
      return change_lock(fd, command, argument, real);
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
      return copied(fd, real(fd, command, argument));
    case F_SETFL:
      set_may_block(fd, (reinterpret_cast<intptr_t>(argument) & O_NONBLOCK) == 0);
      return real(fd, command, argument);
    default:
      return real(fd, command, argument);
  }
}

VPROF_INTERPOSE(int, fcntl, (int fd, int command, void *argument), (fd, command, argument)) {
  return control(fd, command, argument, real_fcntl);
}

VPROF_INTERPOSE(int, fcntl64, (int fd, int command, void *argument), (fd, command, argument)) {
  return control(fd, command, argument, real_fcntl64);
}

// A program that limits its system calls may be killed for one that it did not expect.
VPROF_INTERPOSE(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d),
                (option, a, b, c, d)) {
  if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV && attached()) silence();
  if (option == PR_SET_SECCOMP && attached())
    will_restrict(a == SECCOMP_MODE_FILTER, reinterpret_cast<const sock_fprog *>(b));
  return real_prctl(option, a, b, c, d);
}

// POSIX message queues, which are descriptors

VPROF_INTERPOSE(int, mq_send, (mqd_t queue, const char *text, size_t size, unsigned priority),
                (queue, text, size, priority)) {
  const auto make = [=] { return real_mq_send(queue, text, size, priority); };
  return attached() ? write_descriptor(queue, 0, make) : make();
}

VPROF_INTERPOSE(int, mq_timedsend,
                (mqd_t queue, const char *text, size_t size, unsigned priority, const timespec *until),
                (queue, text, size, priority, until)) {
  const auto make = [=] { return real_mq_timedsend(queue, text, size, priority, until); };
  return attached() ? write_descriptor(queue, 0, make) : make();
}

VPROF_INTERPOSE(ssize_t, mq_receive, (mqd_t queue, char *text, size_t size, unsigned *priority),
                (queue, text, size, priority)) {
  const auto make = [=] { return real_mq_receive(queue, text, size, priority); };
  return attached() ? read_descriptor(queue, make) : make();
}

VPROF_INTERPOSE(ssize_t, mq_timedreceive,
                (mqd_t queue, char *text, size_t size, unsigned *priority, const timespec *until),
                (queue, text, size, priority, until)) {
  const auto make = [=] { return real_mq_timedreceive(queue, text, size, priority, until); };
  return attached() ? read_descriptor(queue, make) : make();
}

// System V message queues

static uint64_t queue_name(int queue) {
  return memory_identity(8, static_cast<uint64_t>(queue));
}

VPROF_INTERPOSE(int, msgsnd, (int queue, const void *message, size_t size, int flags), (queue, message, size, flags)) {
  const auto make = [=] { return real_msgsnd(queue, message, size, flags); };
  if (!attached()) return make();
  release_with_time(ObjectClass::kMessageQueue, queue_name(queue), false);
  if (flags & IPC_NOWAIT) return make();
  return attempt_or_wait(
      ObjectClass::kMessageQueue, room(queue_name(queue)), EAGAIN,
      [=] { return real_msgsnd(queue, message, size, flags | IPC_NOWAIT); }, make);
}

VPROF_INTERPOSE(ssize_t, msgrcv, (int queue, void *message, size_t size, long type, int flags),
                (queue, message, size, type, flags)) {
  const auto make = [=] { return real_msgrcv(queue, message, size, type, flags); };
  if (!attached()) return make();
  release_with_time(ObjectClass::kMessageQueue, room(queue_name(queue)), false);
  if (flags & (IPC_NOWAIT | MSG_COPY)) return make();
  return attempt_or_wait(
      ObjectClass::kMessageQueue, queue_name(queue), ENOMSG,
      [=] { return real_msgrcv(queue, message, size, type, flags | IPC_NOWAIT); }, make);
}

}  // namespace vprof
