// 16 bytes in a vector register (compression.cpp): SSE2, which every x86-64 has.
#ifndef VPROF_ROW_OF_BYTES_H
#define VPROF_ROW_OF_BYTES_H

#include <emmintrin.h>

#include <cstdint>

namespace vprof {

using Row = __m128i;

inline Row make_row(uint64_t low, uint64_t high) {
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}
inline void store_row(char *to, Row row) {
  _mm_storeu_si128(reinterpret_cast<Row *>(to), row);
}
// The bytes of both in turns: of their low halves, of their high ones.
inline Row interleave_low(Row a, Row b) {
  return _mm_unpacklo_epi8(a, b);
}
inline Row interleave_high(Row a, Row b) {
  return _mm_unpackhi_epi8(a, b);
}

}  // namespace vprof

#endif
