// Time off the CPU inside calls: how long, and whether the thread was preempted, blocked, or waited for a page or a
// device.
//
//     kernel switches the thread off -> clears its rseq_cs word -> next event sees it -> look(): OFF_CPU, word set
//     again
//
// Source: rseq(2). The C library registers a struct rseq for every thread; the kernel sets its word rseq_cs to 0
// whenever the thread comes back from a switch or gets a signal. So a test of that word tells at no cost whether a look
// is worthwhile; a look reads the thread's CPU clock and counts of switches and takes about a microsecond. The word is
// only ever set where it is 0, to a critical section that no instruction lies in: a program that uses rseq itself finds
// its own value untouched, and the kernel clears that just as well.
//
// What is found lies between the previous event and this one. A wait that has a record of its own mostly takes no look:
// what it was off the CPU is subtracted from what the next look finds (docs/design/time-off-the-cpu.md). Without the C
// library's registration (older than glibc 2.35, GLIBC_TUNABLES=glibc.pthread.rseq=0), or if the kernel does not clear
// the word in the self-test at attach, nothing is looked at and the trace says so (`off_cpu` of the `thread` event).
//
// All of it works on the calling thread, keeps errno, and is safe in signal handlers.
#ifndef VPROF_OFF_CPU_H
#define VPROF_OFF_CPU_H

#include "thread.h"
#include "thread_word.h"

// Where the word is, from the thread pointer; 0 while time off the CPU cannot be known: the word there is the
// thread pointer itself, which is never 0. Constant after attach.
extern "C" __attribute__((visibility("hidden"))) int64_t vprof_switch_word;

namespace vprof {

// Once per process, at attach: looks for the C library's registration and tests it, with a sleep: of a microsecond,
// longer ones if that was none.
void prepare_off_cpu();

inline bool off_cpu_is_known() {
  return vprof_switch_word != 0;
}

// For a thread that takes its slot: what was before does not count. When it gives it back: the word is left to others.
void begin_looking();
void end_looking();

// Whether the thread has been off the CPU, or had a signal, since the last look.
inline bool was_switched() {
  return __builtin_expect(thread_word_is_zero(vprof_switch_word), 0);
}

// Whether an event at `now` has to look.
inline bool should_look(uint64_t now) {
  return was_switched() || now > t_thread.look_by;
}

// A hypervisor that takes the CPU away switches no thread, so the word does not tell. The kernel does not charge such
// time to the thread's CPU clock, so the first event more than this after a look looks again (a microsecond; in ticks,
// half a millisecond at 2 GHz). What was taken meanwhile, if it is as much, was taken after the event before at least
// in part: that one came too early for a look. If it is less, nobody knows where it belongs, and it counts as
// execution.
constexpr uint64_t kLookTicks = uint64_t{1} << 20;

// Of the time between two looks. Also true of time that interrupts take, where the kernel counts that apart.
constexpr bool was_taken(uint64_t off_ns, uint64_t wall_ns, uint64_t ticks) {
  return static_cast<double>(off_ns) * static_cast<double>(ticks) >=
         static_cast<double>(kLookTicks) * static_cast<double>(wall_ns);
}

// Records the time off the CPU since the last look. Returns the present time in ticks: no switch before it is left
// unseen.
uint64_t look(Slot *slot);

// Before a call that may sleep: what was before is not the call's. A thread without a slot has nothing to tell.
inline void look_before_call() {
  if (was_switched() && t_thread.slot != nullptr) look(t_thread.slot);
}

// After it, before anything else that may sleep: what it slept for is `cause`, if that is known (0, kOffStorage,
// kOffForWoken, kOffSleep or kOffMemory). Where it slept, its call stack is taken.
void tell_sleep(Slot *slot, uint32_t cause);
inline void look_after_call(uint32_t cause) {
  if (was_switched() && t_thread.slot != nullptr) tell_sleep(t_thread.slot, cause);
}

// With a cause: it holds only if the thread had pages mapped (minor faults) since the last look.
constexpr uint32_t kOnlyWithFaults = uint32_t{1} << 31;

// The same without a record: a BLOCKED record tells of that time.
void look_away();

// After a wait with a BLOCKED record, which began at an event, that lasted from `began` to `resumed`. As look_away();
// but of waits that do nothing but sleep most need no look (off_cpu.cpp): one sleep is taken for granted.
void look_after_wait(ObjectClass cls, uint64_t began, uint64_t resumed);

// Whether was_switched() tells after a call of the thread whether it has waited in it: a wait there would be granted
// (off_cpu.cpp). If a call that does not wait is preempted, or a signal is handled in it, that is told as a wait; then
// the next look ends the habit, after 15 waits at most.
bool tells_sleep();

// Before a call that sleeps for something of its own: so that its switch is told apart from those that were in waits.
void recount();

// How often the thread had slept until its last switch that an event has seen.
uint64_t count_sleeps();

// The time of an event that ends what the thread did before. `slot` may be null.
inline uint64_t event_ticks(Slot *slot) {
  const uint64_t now = ticks();
  return should_look(now) && slot != nullptr ? look(slot) : now;
}

}  // namespace vprof

#endif
