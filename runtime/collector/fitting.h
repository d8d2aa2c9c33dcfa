// What stands in the arena may be anything, since programs may overwrite it: what a file says of it goes through here,
// so that it fits the format (TRACE_FORMAT.md section 5).
#ifndef VPROF_FITTING_H
#define VPROF_FITTING_H

#include <algorithm>
#include <cstdint>

namespace vprof {

constexpr uint32_t as_id(uint32_t number) {
  return number & 0x7fffffff;
}
constexpr uint64_t as_count(uint64_t number) {
  return std::min(number, (uint64_t{1} << 62) - 1);
}
// The sum of two counts, without wrapping.
constexpr uint64_t sum_of_counts(uint64_t a, uint64_t b) {
  return as_count(as_count(a) + as_count(b));
}
constexpr uint64_t not_after(uint64_t now, uint64_t ticks) {
  return std::min(ticks, now);
}

}  // namespace vprof

#endif
