// What the wrappers of external functions do around the real call besides their probe: waits and releases.
//
// `call(Called<site>, make, arguments...)` for each function that has any; `make` makes the real call.
#ifndef VPROF_EXTERNAL_CALLS_H
#define VPROF_EXTERNAL_CALLS_H

#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arguments.h"
#include "children.h"
#include "descriptor_waits.h"
#include "raw_syscall.h"
#include "readiness.h"
#include "signals.h"
#include "system_calls.h"

namespace vprof {

// Index of a function's switch byte.
enum Site : uint32_t {
#define VPROF_EXTERNAL(type, name, parameters, arguments) kSite_##name,
#include "external_functions.def"
};

template <Site>
struct Called {};

template <Site site, typename Make, typename... Arguments>
auto call(Called<site>, Make make, Arguments...) {
  return make();
}

#define VPROF_CALL(name, ...)                   \
  template <typename Make, typename... Further> \
  auto call(Called<kSite_##name>, Make make, __VA_ARGS__, Further...)

// Reading

VPROF_CALL(read, int file) {
  return read_descriptor(file, make);
}
VPROF_CALL(recv, int socket, void *, size_t, int flags) {
  return flags & (MSG_DONTWAIT | MSG_ERRQUEUE) ? make() : read_descriptor(socket, make);
}
VPROF_CALL(recvfrom, int socket, void *, size_t, int flags) {
  return flags & (MSG_DONTWAIT | MSG_ERRQUEUE) ? make() : read_descriptor(socket, make);
}
VPROF_CALL(recvmsg, int socket, msghdr *message, int flags) {
  const auto result = flags & (MSG_DONTWAIT | MSG_ERRQUEUE) ? make() : read_descriptor(socket, make);
  if (result >= 0 && message->msg_controllen != 0) forget_received(message);
  return result;
}
VPROF_CALL(readv, int file) {
  return read_descriptor(file, make);
}
VPROF_CALL(accept, int socket) {
  const int accepted = read_descriptor(socket, make);
  forget_descriptor(accepted);
  return accepted;
}
VPROF_CALL(accept4, int socket) {
  const int accepted = read_descriptor(socket, make);
  forget_descriptor(accepted);
  return accepted;
}

// Writing

// What lies in several parts: only the kernel may read where they are.
constexpr size_t kUnknownSize = SIZE_MAX;

VPROF_CALL(write, int file, const void *, size_t size) {
  return write_descriptor(file, size, make);
}
VPROF_CALL(writev, int file) {
  return write_descriptor(file, kUnknownSize, make);
}
VPROF_CALL(sendfile, int out, int, off_t *, size_t size) {
  return write_descriptor(out, size, make);
}
VPROF_CALL(send, int socket, const void *, size_t size, int flags) {
  return write_descriptor(socket, size, make, (flags & MSG_DONTWAIT) == 0);
}
VPROF_CALL(sendto, int socket, const void *, size_t size, int flags) {
  return write_descriptor(socket, size, make, (flags & MSG_DONTWAIT) == 0);
}
VPROF_CALL(sendmsg, int socket, const msghdr *, int flags) {
  return write_descriptor(socket, kUnknownSize, make, (flags & MSG_DONTWAIT) == 0);
}

// Descriptors that come and go

VPROF_CALL(open, const char *) {
  const int file = make();
  forget_descriptor(file);
  return file;
}
VPROF_CALL(openat, int) {
  const int file = make();
  forget_descriptor(file);
  return file;
}
VPROF_CALL(connect, int socket, const sockaddr *peer, socklen_t size) {
  const uint64_t listener = listener_at(peer, size);
  if (listener != 0) release_with_time(ObjectClass::kDescriptor, listener, false);
  const int result = make();
  forget_descriptor(socket);
  return result;
}
VPROF_CALL(close, int file) {
  const Descriptor d = known_descriptor(file);
  forget_descriptor(file);  // before: afterwards the number may be another thread's
  release_closed(d);
  return make();
}

// Readiness

// A time that is none, the real call refuses.
inline bool may_wait_for(const timespec *timeout) {
  if (timeout == nullptr) return true;
  return is_time(timeout) && timeout->tv_sec >= 0 && (timeout->tv_sec != 0 || timeout->tv_nsec != 0);
}
constexpr long kKernelMaskBytes = 8;

VPROF_CALL(poll, pollfd *files, nfds_t count, int timeout) {
  const auto now = [=] { return static_cast<int>(poll_now(files, count)); };
  return poll_descriptors(files, count, timeout != 0, now, make);
}
VPROF_CALL(ppoll, pollfd *files, nfds_t count, const timespec *timeout, const sigset_t *mask) {
  const auto now = [=] {
    timespec zero = {0, 0};
    return static_cast<int>(vprof_raw_syscall(SYS_ppoll, files, count, &zero, mask, kKernelMaskBytes));
  };
  return poll_descriptors(files, count, may_wait_for(timeout), now, make);
}

struct KernelMask {
  const sigset_t *mask;
  size_t size;
};

inline int select_now(int count, fd_set *in, fd_set *out, fd_set *odd, const sigset_t *mask) {
  timespec zero = {0, 0};
  const KernelMask kernel_mask = {mask, static_cast<size_t>(kKernelMaskBytes)};
  return static_cast<int>(vprof_raw_syscall(SYS_pselect6, long{count}, in, out, odd, &zero, &kernel_mask));
}

VPROF_CALL(select, int count, fd_set *in, fd_set *out, fd_set *odd, timeval *timeout) {
  const bool may_wait = timeout == nullptr || (timeout->tv_sec >= 0 && timeout->tv_usec >= 0 &&
                                               (timeout->tv_sec != 0 || timeout->tv_usec != 0));
  return select_descriptors(
      count, in, out, odd, may_wait, [=] { return select_now(count, in, out, odd, nullptr); }, make);
}
VPROF_CALL(pselect, int count, fd_set *in, fd_set *out, fd_set *odd, const timespec *timeout, const sigset_t *mask) {
  return select_descriptors(
      count, in, out, odd, may_wait_for(timeout), [=] { return select_now(count, in, out, odd, mask); }, make);
}

// Each by the system call that the program makes: another one it may have forbidden itself.

// Where the kernel has no epoll_wait, the C library makes it of its epoll_pwait, and in a static program that is our
// wrapper, which would tell the call and its wait once more.
#if defined VPROF_STATIC && !defined SYS_epoll_wait
extern "C" int real_epoll_pwait(int, epoll_event *, int, int, const sigset_t *) __asm__("__real_epoll_pwait");
template <typename Make>
int real_epoll_wait_of(Make, int poller, epoll_event *found, int most, int timeout) {
  return real_epoll_pwait(poller, found, most, timeout, nullptr);
}
#else
template <typename Make>
int real_epoll_wait_of(Make make, int, epoll_event *, int, int) {
  return make();
}
#endif

VPROF_CALL(epoll_wait, int poller, epoll_event *found, int most, int timeout) {
  const auto now = [=] { return static_cast<int>(epoll_wait_now(poller, found, most)); };
  const auto real = [=] { return real_epoll_wait_of(make, poller, found, most, timeout); };
  return poll_epoll(poller, found, timeout != 0, now, real);
}
VPROF_CALL(epoll_pwait, int poller, epoll_event *found, int most, int timeout, const sigset_t *mask) {
  const auto now = [=] {
    return static_cast<int>(
        vprof_raw_syscall(SYS_epoll_pwait, long{poller}, found, long{most}, 0l, mask, kKernelMaskBytes));
  };
  return poll_epoll(poller, found, timeout != 0, now, make);
}
VPROF_CALL(epoll_pwait2, int poller, epoll_event *found, int most, const timespec *timeout, const sigset_t *mask) {
  const auto now = [=] {
    timespec zero = {0, 0};
    return static_cast<int>(
        vprof_raw_syscall(SYS_epoll_pwait2, long{poller}, found, long{most}, &zero, mask, kKernelMaskBytes));
  };
  return poll_epoll(poller, found, may_wait_for(timeout), now, make);
}

// Sleep: a wait for somebody only if a signal ended it.

template <typename Make>
auto sleep_unless_signalled(Make make, bool (*interrupted)(decltype(make()))) {
  const uint64_t began = ticks();
  const auto result = make();
  const int error = errno;
  const uint64_t resumed = ticks();
  if (interrupted(result))
    write_blocked({ObjectClass::kSignal, process_target(g_session.pid), began, 0, nullptr},
                  sender_of_signal(began, resumed), resumed);
  errno = error;
  return result;
}

VPROF_CALL(nanosleep, const timespec *) {
  return sleep_unless_signalled(make, [](int result) { return result != 0 && errno == EINTR; });
}
VPROF_CALL(clock_nanosleep, clockid_t) {
  return sleep_unless_signalled(make, [](int result) { return result == EINTR; });
}
VPROF_CALL(usleep, useconds_t) {
  return sleep_unless_signalled(make, [](int result) { return result != 0 && errno == EINTR; });
}
VPROF_CALL(sleep, unsigned) {
  return sleep_unless_signalled(make, [](unsigned rest) { return rest != 0; });
}

// Children

VPROF_CALL(wait, int *status) {
  return wait_for_child([=] { return wait_now(-1, status, 0, nullptr); }, make);
}
VPROF_CALL(waitpid, pid_t child, int *status, int flags) {
  if (flags & WNOHANG) return make();
  return wait_for_child([=] { return wait_now(child, status, flags, nullptr); }, make);
}
VPROF_CALL(wait4, pid_t child, int *status, int flags, rusage *usage) {
  if (flags & WNOHANG) return make();
  return wait_for_child([=] { return wait_now(child, status, flags, usage); }, make);
}
VPROF_CALL(waitid, idtype_t kind, id_t child, siginfo_t *status, int flags) {
  if ((flags & WNOHANG) || status == nullptr) return make();
  return wait_for_child_as(kind, child, status, flags, make);
}

// Locks of files

VPROF_CALL(flock, int file, int operation) {
  const uint64_t object = enter_locked_file(file);
  if (object == 0 || (operation & LOCK_NB)) return make();
  if (operation & LOCK_UN) return release_by(ObjectClass::kFileLock, object, make);
  const auto now = [=] {
    return static_cast<int>(vprof_raw_syscall(SYS_flock, long{file}, long{operation | LOCK_NB}));
  };
  const int rc = attempt_or_wait(ObjectClass::kFileLock, object, EWOULDBLOCK, now, make);
  if (rc == 0) begin_hold(ObjectClass::kFileLock, object);
  return rc;
}

#undef VPROF_CALL

}  // namespace vprof

#endif
