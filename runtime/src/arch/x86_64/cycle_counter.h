// The TSC, read without a fence (clock.h).
#ifndef VPROF_CYCLE_COUNTER_H
#define VPROF_CYCLE_COUNTER_H

#include <cpuid.h>
#include <x86intrin.h>

#include <cstdint>

namespace vprof {

inline uint64_t read_cycles() {
  return __rdtsc();
}

// Whether all CPUs count at one rate, whatever theirs is: CPUID 80000007H, EDX bit 8.
inline bool cycles_are_steady() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}

}  // namespace vprof

#endif
