// Signals: who sends them, and waits for nothing else (signals.h). Waits for other things that a signal ends name the
// sender as well (finish_wait).
#include <signal.h>
#include <unistd.h>

#include "arguments.h"
#include "blocking.h"
#include "interpose.h"
#include "signals.h"

namespace vprof {

// Senders. Groups of processes are not followed.

static void name_sent(uint64_t target, int signal) {
  if (attached() && signal != 0) release_with_time(ObjectClass::kSignal, target, true);
}

VPROF_INTERPOSE(int, kill, (pid_t process, int signal), (process, signal)) {
  if (process > 0) name_sent(process_target(static_cast<uint64_t>(process)), signal);
  return real_kill(process, signal);
}

VPROF_INTERPOSE(int, sigqueue, (pid_t process, int signal, const union sigval value), (process, signal, value)) {
  name_sent(process_target(static_cast<uint64_t>(process)), signal);
  return real_sigqueue(process, signal, value);
}

VPROF_INTERPOSE(int, pthread_kill, (pthread_t thread, int signal), (thread, signal)) {
  name_sent(object_id(reinterpret_cast<void *>(thread)), signal);
  return real_pthread_kill(thread, signal);
}

VPROF_INTERPOSE(int, pthread_sigqueue, (pthread_t thread, int signal, const union sigval value),
                (thread, signal, value)) {
  name_sent(object_id(reinterpret_cast<void *>(thread)), signal);
  return real_pthread_sigqueue(thread, signal, value);
}

VPROF_INTERPOSE(int, tgkill, (pid_t process, pid_t thread, int signal), (process, thread, signal)) {
  name_sent(thread_target(static_cast<uint64_t>(thread)), signal);
  return real_tgkill(process, thread, signal);
}

// Waiters

template <typename Block>
static int wait_for_signal(Block block, bool (*failed)(int rc)) {
  const Wait wait = begin_wait(ObjectClass::kSignal, process_target(g_session.pid));
  const int rc = within(wait, block);
  const int error = errno;
  const uint64_t resumed = ticks();
  const Peer peer = failed(rc) && error != EINTR ? kNobody : sender_of_signal(wait.began, resumed);
  write_blocked(wait, peer, resumed);
  end_wait(wait);
  errno = error;
  return rc;
}

static bool is_pending(const sigset_t *blocked) {
  sigset_t pending;
  if (is_restricted()) return false;
  if (sigpending(&pending) != 0) return false;
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&pending, signal) == 1 && sigismember(blocked, signal) != 1) return true;
  return false;
}

VPROF_INTERPOSE(int, pause, (), ()) {
  if (!attached()) return real_pause();
  return wait_for_signal([] { return real_pause(); }, [](int) { return false; });
}

VPROF_INTERPOSE(int, sigsuspend, (const sigset_t *mask), (mask)) {
  if (!attached() || is_pending(mask)) return real_sigsuspend(mask);
  return wait_for_signal([=] { return real_sigsuspend(mask); }, [](int) { return false; });
}

// The wait is not begun if one of the signals is there.
template <typename Block>
static bool take_pending(const sigset_t *signals, siginfo_t *info, int *taken, Block real_attempt) {
  if (!attached()) return false;
  const int saved_errno = errno;
  const timespec now = {0, 0};
  *taken = real_attempt(signals, info, &now);
  errno = saved_errno;
  return *taken > 0;
}

VPROF_INTERPOSE(int, sigtimedwait, (const sigset_t *signals, siginfo_t *info, const timespec *timeout),
                (signals, info, timeout)) {
  int taken;
  const bool may_wait = timeout == nullptr || (is_time(timeout) && (timeout->tv_sec != 0 || timeout->tv_nsec != 0));
  if (!may_wait || !attached()) return real_sigtimedwait(signals, info, timeout);
  if (take_pending(signals, info, &taken, real_sigtimedwait)) return taken;
  return wait_for_signal([=] { return real_sigtimedwait(signals, info, timeout); }, [](int rc) { return rc < 0; });
}

VPROF_INTERPOSE(int, sigwaitinfo, (const sigset_t *signals, siginfo_t *info), (signals, info)) {
  int taken;
  if (!attached()) return real_sigwaitinfo(signals, info);
  if (take_pending(signals, info, &taken, real_sigtimedwait)) return taken;
  return wait_for_signal([=] { return real_sigwaitinfo(signals, info); }, [](int rc) { return rc < 0; });
}

VPROF_INTERPOSE(int, sigwait, (const sigset_t *signals, int *signal), (signals, signal)) {
  int taken;
  if (!attached()) return real_sigwait(signals, signal);
  if (take_pending(signals, nullptr, &taken, real_sigtimedwait)) {
    *signal = taken;
    return 0;
  }
  return wait_for_signal([=] { return real_sigwait(signals, signal); }, [](int rc) { return rc != 0; });
}

}  // namespace vprof
