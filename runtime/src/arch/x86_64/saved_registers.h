// How much entry.S saves where it calls the slow functions.
#ifndef VPROF_SAVED_REGISTERS_H
#define VPROF_SAVED_REGISTERS_H

#include <cpuid.h>

#include <algorithm>
#include <cstdint>

namespace vprof {

// Bytes of xsave's area; 0: the CPU or the kernel has no xsave.
inline int64_t bytes_of_vectors() {
  constexpr unsigned kHasXsave = 1u << 27, kStateLeaf = 13, kLegacyAndHeader = 512 + 64;
  unsigned size, offset, c, d;
  if (!__get_cpuid(1, &size, &offset, &c, &d) || !(c & kHasXsave)) return 0;
  unsigned end = kLegacyAndHeader;
  for (const unsigned component : {2u, 5u, 6u, 7u}) {  // AVX, the three of AVX-512
    __cpuid_count(kStateLeaf, component, size, offset, c, d);
    end = std::max(end, offset + size);
  }
  return end;
}

}  // namespace vprof

#endif
