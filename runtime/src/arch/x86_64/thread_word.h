// A word of the calling thread, by its distance from the thread pointer (%fs). One instruction each: a signal handler
// may write it in between. Also rseq's signature.
#ifndef VPROF_THREAD_WORD_H
#define VPROF_THREAD_WORD_H

#include <cstdint>

namespace vprof {

// What the kernel wants to read before an abort address (rseq(2)).
constexpr uint32_t kRseqSignature = 0x53053053;

inline bool thread_word_is_zero(int64_t place) {
  bool zero;
  __asm__ volatile("cmpq $0, %%fs:(%1)" : "=@cce"(zero) : "r"(place) : "memory");
  return zero;
}

inline uint64_t load_thread_word(int64_t place) {
  uint64_t value;
  __asm__ volatile("movq %%fs:(%1), %0" : "=r"(value) : "r"(place) : "memory");
  return value;
}

inline void store_thread_word(int64_t place, uint64_t value) {
  __asm__ volatile("movq %0, %%fs:(%1)" : : "r"(value), "r"(place) : "memory");
}

}  // namespace vprof

#endif
