// Timestamps in ticks: rdtsc where the TSC is invariant (CPUID 80000007H, EDX bit 8), else CLOCK_MONOTONIC nanoseconds.
//
// The collector decides once per session; all processes follow it. Both clocks can be read in signal handlers. rdtsc is
// not serialized on purpose (a fence costs as much as the clock itself): a time is exact to some ten instructions.
#ifndef VPROF_CLOCK_H
#define VPROF_CLOCK_H

#include <cpuid.h>
#include <time.h>
#include <x86intrin.h>

#include <cstdint>

namespace vprof {

enum class Clock : uint32_t { kTsc = 0, kMonotonic = 1 };

// Not inlined: it must not cost the hot path registers.
__attribute__((noinline)) inline uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

inline uint64_t read_clock(Clock clock) {
  if (__builtin_expect(clock == Clock::kTsc, 1)) return __rdtsc();
  return monotonic_ns();
}

inline Clock best_clock() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1)) return Clock::kTsc;
  return Clock::kMonotonic;
}

}  // namespace vprof

#endif
