// How much entry.S saves where it calls the slow functions.
#ifndef VPROF_SAVED_REGISTERS_H
#define VPROF_SAVED_REGISTERS_H

#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <cstdint>

namespace vprof {

// Not 0: the vectors are those of SVE, with their predicates. How long they are the CPU tells where they are saved, for
// a thread may change it (prctl).
inline int64_t bytes_of_vectors() {
  constexpr int64_t kShortest = 16;
  return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? kShortest : 0;
}

}  // namespace vprof

#endif
