// Which memory the calls of the running flow of control lie in, and that a thread was found elsewhere.
//
// A program may switch stacks by instructions of its own, which nobody sees. Then the calls of two flows get into one
// thread's open calls, in an order that no thread can have, and what is measured means nothing. That shows on the slow
// paths that mend such orders (shadow_stack.h), where a longjmp on the thread's own stack has another look: so a switch
// costs nothing to find, and is told once per thread (Slot::strayed), for reports to refuse what follows from it.
//
// Not found: in threads whose stack is not known, those that pthread_create and thrd_create did not make.
#ifndef VPROF_STACKS_H
#define VPROF_STACKS_H

#include "arena.h"

namespace vprof {

struct Stack {
  uint64_t low, high;  // high 0: not known

  bool is_known() const { return high != 0; }
  bool has(uint64_t address) const { return address - low < high - low; }
};

// Of what runs now: the thread itself, or a fiber (fibers.h). `t_left_stack`: of what ran before; between the switch of
// the state and that of the stack a signal handler finds itself there.
extern __thread Stack t_stack __attribute__((tls_model("initial-exec")));
extern __thread Stack t_left_stack __attribute__((tls_model("initial-exec")));

// Of the calling thread. main_stack: of the thread that the kernel made; asks for its limit. thread_stack: of one that
// the C library gave so many bytes, below the thread pointer.
Stack main_stack();
Stack thread_stack(uint64_t bytes);

// Makes one system call. False if there is no signal stack.
bool is_on_signal_stack(uint64_t address);

// Whether the running flow may have a call there. May make a system call (sigaltstack).
bool may_have_calls(uint64_t address);

// The slot's thread is, or was, where the running flow cannot be.
void note_stray(Slot *slot);

inline void note_if_astray(Slot *slot, uint64_t address) {
  if (slot->strayed.load(std::memory_order_relaxed) == 0 && !may_have_calls(address)) note_stray(slot);
}

}  // namespace vprof

#endif
