#include "crc32.h"

#include <array>
#include <cstring>

namespace vprof {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

static constexpr Tables make_tables() {
  Tables t{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
    t[0][i] = c;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (size_t k = 1; k < 8; ++k) t[k][i] = t[0][t[k - 1][i] & 0xff] ^ t[k - 1][i] >> 8;
  return t;
}

static constexpr Tables kTables = make_tables();

uint32_t crc32(uint32_t crc, const void *data, size_t size) {
  const unsigned char *p = static_cast<const unsigned char *>(data);
  uint32_t c = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    word ^= c;
    c = 0;
    for (size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][word >> 8 * k & 0xff];
  }
  for (; size != 0; --size, ++p) c = kTables[0][(c ^ *p) & 0xff] ^ c >> 8;
  return ~c;
}

}  // namespace vprof
