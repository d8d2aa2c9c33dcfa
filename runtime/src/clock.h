// Timestamps in ticks: of the processor's counter where it is steady (arch/*/cycle_counter.h), else CLOCK_MONOTONIC
// nanoseconds.
//
// The collector decides once per session; all processes follow it. Both clocks can be read in signal handlers. The
// counter is not serialized on purpose (a fence costs as much as the clock itself): a time is exact to some ten
// instructions. It is called TSC everywhere, as x86 calls it.
#ifndef VPROF_CLOCK_H
#define VPROF_CLOCK_H

#include <time.h>

#include <cstdint>

#include "cycle_counter.h"

namespace vprof {

enum class Clock : uint32_t { kTsc = 0, kMonotonic = 1 };

// Not inlined: it must not cost the hot path registers.
__attribute__((noinline)) inline uint64_t monotonic_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

inline uint64_t read_clock(Clock clock) {
  if (__builtin_expect(clock == Clock::kTsc, 1)) return read_cycles();
  return monotonic_ns();
}

inline Clock best_clock() {
  if (cycles_are_steady()) return Clock::kTsc;
  return Clock::kMonotonic;
}

}  // namespace vprof

#endif
