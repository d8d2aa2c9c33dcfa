// Where threads wait, whatever probes are on: call stacks of waits, sampled by the time waited, and of releases that
// somebody waited for.
//
//     end of a wait, in the same call -> every kStackPeriod ticks waited: unwind -> StackTable -> STACK record
//
// A wait crosses as many multiples of the period, counted over its thread's waits, as it is long, so a sample of k
// periods stands for that much time: the expectation is the time waited, whatever the lengths of the waits. All threads
// and processes of a session together may take one part in kShareOfStacks of a CPU's time for it, with a reserve for
// bursts. The more of the reserve is used up, the longer the period gets, for all alike; a refusal for some time would
// hit those who wait for others that wait, again and again. Only without any reserve nothing is taken.
//
// Source of stacks: the unwind tables that compilers write by default, by libgcc's unwinder, where the thread's last
// stack does not stand any more (last_stack.h). It finds them by _dl_find_object (glibc 2.35), so it neither locks nor
// allocates; it is run once at attach, so that nothing is bound lazily later. It would lock, for tables that were
// registered at run time: none is taken in a process that has any, as compilers at run time register them and static
// programs their own. A stack ends where code has no tables. Places outside instrumented modules are left out. No stack
// is taken where little of the thread's stack is left, nor on a signal stack, nor where the stack is not known.
#ifndef VPROF_WAIT_STACKS_H
#define VPROF_WAIT_STACKS_H

#include "thread.h"

namespace vprof {

constexpr uint64_t kStackPeriod = uint64_t{1} << 24;  // ticks: 4 to 8 ms with a TSC
constexpr uint64_t kReleasePeriod = 16 * kStackPeriod;
constexpr uint64_t kShareOfStacks = 128;
constexpr unsigned kLevels = 8;                               // at each the period is twice as long
constexpr uint64_t kReserve = kLevels * (uint64_t{1} << 29);  // ticks: each level has a fifth of a second of it

// Once per process, at attach.
void prepare_wait_stacks();

// The process registers unwind tables: from now on no stack is taken in it.
void stop_taking_stacks();

// The code of a module of the session lies there in this process. `bias`: what is added to link-time addresses.
void know_code(uint32_t module, uint64_t low, uint64_t high, uint64_t bias);

// Called by the thread whose wait of so many ticks has ended at `now`, within the call that waited.
void sample_wait(Slot *slot, uint64_t waited, uint64_t now);

// Called by a thread that has released, at `now`, what others wait for.
void sample_release(uint64_t now);

}  // namespace vprof

#endif
