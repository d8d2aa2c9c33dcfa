// Signals as wake-ups: who sent the one that ended a wait.
//
//     sender:  stamps the target just before kill, sigqueue (the process), pthread_kill, tgkill (the thread)
//     waiter:  sender_of_signal after a wait that a signal ended
//
// Which signal it was is not told, nor whether the process's went to this thread: the last sender during the wait
// counts. Not seen: signals of the kernel and of programs that are not profiled. Thread-safety: any thread, signal
// handlers.
#ifndef VPROF_SIGNALS_H
#define VPROF_SIGNALS_H

#include "sync.h"

namespace vprof {

// Session names of targets. A thread has two: senders know either.
uint64_t process_target(uint64_t pid);
uint64_t thread_target(uint64_t tid);

// Before a system call that may send one: kill, tkill, tgkill by syscall(2).
void note_signal_sent(long number, long target, long thread);

Peer sender_of_signal(uint64_t began, uint64_t resumed);

}  // namespace vprof

#endif
