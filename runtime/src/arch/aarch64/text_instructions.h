// There are no probes before bodies here: nobody makes a copy of code (shared_text.h), and one that another made would
// hold no probe.
#ifndef VPROF_TEXT_INSTRUCTIONS_H
#define VPROF_TEXT_INSTRUCTIONS_H

#include <cstdint>

namespace vprof {

constexpr uint64_t kJumpBytes = 4;

constexpr bool can_be_switched(uint64_t) {
  return false;
}
constexpr uint64_t read_instruction(const unsigned char *) {
  return 0;
}
constexpr bool is_probe(uint64_t, int32_t) {
  return false;
}
constexpr uint32_t called_from(uint32_t site, const void *) {
  return site;
}
constexpr void write_instruction(unsigned char *, int32_t, bool) {}

}  // namespace vprof

#endif
