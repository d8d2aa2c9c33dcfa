// Fibers: flows of control with a stack of their own, of which a thread runs one at a time (makecontext, boost.context,
// coroutines that longjmp between stacks).
//
//     makecontext -> begin_fiber(stack) ... swapcontext, setcontext, longjmp -> go_to(stack pointer) ... return ->
//     finish_fiber
//
// A fiber is a thread of its own to all that reads the trace: it has a slot, so open calls and intervals of its own; it
// is blocked while it does not run, and who switched to it has woken it. So its wait is, on the critical path, what its
// thread did meanwhile: other fibers' work, or the scheduler's wait for the kernel. A thread's own flow is treated as
// one more fiber.
//
// Which flow a jump leads to is told by the stack that its stack pointer lies in, so contexts may be copied, used again
// and resumed on other threads. A jump to a stack that nobody has announced leads away from all that is recorded, until
// one leads back. A fiber that finds no slot, or comes when kMostFibers are known, runs unrecorded and is counted.
//
// Switched with the flow: t_thread, t_described, t_waits and t_stack. Not switched, since they are the thread's own:
// the looks at time off the CPU (what was off until the switch is told by the flow that leaves).
//
// Thread-safety: a flow runs on one thread at a time, else its second thread runs unrecorded. No locks. Only the first
// begin_fiber maps memory, a fiber's first run claims its slot.
#ifndef VPROF_FIBERS_H
#define VPROF_FIBERS_H

#include "stacks.h"
#include "thread.h"

namespace vprof {

constexpr uint32_t kMostFibers = 1024;

// A context on this stack was made, which has not run yet. What was there before is over.
void begin_fiber(Stack stack);

// The calling thread is about to go on where the stack pointer is `stack_pointer`, in this flow or in another one.
void go_to(uint64_t stack_pointer);

// The running fiber is over; its thread goes on at `stack_pointer`.
void finish_fiber(uint64_t stack_pointer);

bool is_in_fiber();

// The thread ends, on whatever stack: its own flow is the running one from here on.
void return_to_own_flow();

// In a forked child: the slots are the parent's.
void forget_fibers();

}  // namespace vprof

#endif
