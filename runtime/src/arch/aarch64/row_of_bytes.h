// 16 bytes in a vector register (compression.cpp).
#ifndef VPROF_ROW_OF_BYTES_H
#define VPROF_ROW_OF_BYTES_H

#include <arm_neon.h>

#include <cstdint>

namespace vprof {

using Row = uint8x16_t;

inline Row make_row(uint64_t low, uint64_t high) {
  return vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(low), vcreate_u64(high)));
}
inline void store_row(char *to, Row row) {
  vst1q_u8(reinterpret_cast<uint8_t *>(to), row);
}
// The bytes of both in turns: of their low halves, of their high ones.
inline Row interleave_low(Row a, Row b) {
  return vzip1q_u8(a, b);
}
inline Row interleave_high(Row a, Row b) {
  return vzip2q_u8(a, b);
}

}  // namespace vprof

#endif
