// A word of the calling thread, by its distance from the thread pointer (TPIDR_EL0). One access each: a signal handler
// may write it in between. Also rseq's signature.
#ifndef VPROF_THREAD_WORD_H
#define VPROF_THREAD_WORD_H

#include <cstdint>

namespace vprof {

// What the kernel wants to read before an abort address (rseq(2)).
constexpr uint32_t kRseqSignature = 0xd428bc00;

inline volatile uint64_t *thread_word(int64_t place) {
  return reinterpret_cast<volatile uint64_t *>(static_cast<char *>(__builtin_thread_pointer()) + place);
}

inline uint64_t load_thread_word(int64_t place) {
  return *thread_word(place);
}

inline void store_thread_word(int64_t place, uint64_t value) {
  *thread_word(place) = value;
}

inline bool thread_word_is_zero(int64_t place) {
  return load_thread_word(place) == 0;
}

}  // namespace vprof

#endif
