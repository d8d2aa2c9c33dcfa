#include "signals.h"

#include <pthread.h>
#include <sys/syscall.h>

namespace vprof {

// Apart from addresses and from each other.
uint64_t process_target(uint64_t pid) {
  return memory_identity(4, pid);
}
uint64_t thread_target(uint64_t tid) {
  return memory_identity(5, tid);
}

void note_signal_sent(long number, long target, long thread) {
  if (number == SYS_kill && target > 0)
    release_with_time(ObjectClass::kSignal, process_target(static_cast<uint64_t>(target)), true);
  else if (number == SYS_tkill || number == SYS_tgkill)
    release_with_time(ObjectClass::kSignal, thread_target(static_cast<uint64_t>(number == SYS_tkill ? target : thread)),
                      true);
}

Peer sender_of_signal(uint64_t began, uint64_t resumed) {
  const auto sent_to = [=](uint64_t target) { return released_within(ObjectClass::kSignal, target, began, resumed); };
  const Slot *slot = current_slot();
  const Peer to_process = sent_to(process_target(g_session.pid));
  const Peer to_handle = sent_to(object_id(reinterpret_cast<void *>(pthread_self())));
  const Peer to_tid = slot != nullptr ? sent_to(thread_target(slot->tid)) : kNobody;
  return later(to_process, later(to_handle, to_tid));
}

}  // namespace vprof
