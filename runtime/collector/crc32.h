// CRC-32 as zlib computes it (TRACE_FORMAT.md section 1), eight bytes at a step.
#ifndef VPROF_CRC32_H
#define VPROF_CRC32_H

#include <cstddef>
#include <cstdint>

namespace vprof {

// Continues `crc` (0 at the start) over `size` bytes.
uint32_t crc32(uint32_t crc, const void *data, size_t size);

}  // namespace vprof

#endif
