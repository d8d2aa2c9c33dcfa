// The generic timer's virtual counter (CNTVCT_EL0), which all CPUs share, in ticks of about a nanosecond.
//
// It counts slowly (24 to 62.5 MHz; 1 GHz from Armv8.6 on), so counts are shifted until there are between 2^30 and 2^31
// ticks a second. What is said in ticks elsewhere (off_cpu.h, wait_stacks.h, how long a duration may be) then means
// what it means with a TSC; a time is as exact as the counter. The kernel tells the rate in CNTFRQ_EL0. entry.S does
// the same.
#ifndef VPROF_CYCLE_COUNTER_H
#define VPROF_CYCLE_COUNTER_H

#include <cstdint>

namespace vprof {

inline uint32_t counts_per_second() {
  uint64_t rate;
  __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
  return static_cast<uint32_t>(rate);
}

inline uint64_t read_cycles() {
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count << (__builtin_clz(counts_per_second()) - 1);
}

// Whether all CPUs count at one rate, whatever theirs is. So they do, if the firmware has told a rate that is possible.
inline bool cycles_are_steady() {
  constexpr uint32_t kLeast = 1000000, kMost = 0x7fffffff;
  const uint32_t rate = counts_per_second();
  return rate >= kLeast && rate <= kMost;
}

}  // namespace vprof

#endif
