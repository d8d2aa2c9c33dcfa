// The instructions of probes before bodies (shared_text.h, wrappers.cpp), and how they are changed.
//
// How an instruction is changed while others execute it: by one store within an aligned word of 8 bytes, so that a CPU
// fetches the old one or the new one. AMD's manual allows that; Intel's promises nothing and does not say that it
// fails: HotSpot, .NET and XRay rely on it. Behind endbr64 only the first four bytes lie in one word. The fifth is
// stored before them, while the instruction is a no-op whatever it is, and then stays.
#ifndef VPROF_TEXT_INSTRUCTIONS_H
#define VPROF_TEXT_INSTRUCTIONS_H

#include <cstdint>

#include "../../format.h"

namespace vprof {

constexpr uint64_t kJumpBytes = 5;
constexpr uint64_t kNoOp = 0x08'00'44'1f'0f;  // nopl 8(%rax,%rax)
constexpr uint64_t kJumpMask = (uint64_t{1} << 40) - 1;
constexpr uint32_t kFirstFour = ~uint32_t{0};

constexpr uint64_t jump_of(int32_t distance) {
  return 0xe9 | uint64_t{static_cast<uint32_t>(distance)} << 8;
}

constexpr bool lies_in_word(uint64_t address) {
  return address % 8 + kJumpBytes <= 8;
}

// Whether the instruction there can be changed while it is executed.
constexpr bool can_be_switched(uint64_t address) {
  return lies_in_word(address) || address % 16 == 4;
}

// The instruction's 5 bytes, whatever the collector writes meanwhile. REQUIRES: can_be_switched().
inline uint64_t read_instruction(const unsigned char *at) {
  const uint64_t address = reinterpret_cast<uint64_t>(at);
  if (lies_in_word(address)) {
    const uint64_t *word = reinterpret_cast<const uint64_t *>(address - address % 8);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >> address % 8 * 8 & kJumpMask;
  }
  const uint64_t four = __atomic_load_n(reinterpret_cast<const uint32_t *>(at), __ATOMIC_ACQUIRE);
  return four | uint64_t{__atomic_load_n(at + 4, __ATOMIC_ACQUIRE)} << 32;
}

// A no-op, whatever its last byte is, or that jump.
constexpr bool is_probe(uint64_t instruction, int32_t distance) {
  return (instruction & kFirstFour) == (kNoOp & kFirstFour) || instruction == jump_of(distance);
}

// Makes it the jump or the no-op. REQUIRES: can_be_switched(), is_probe(); nobody else writes.
inline void write_instruction(unsigned char *at, int32_t distance, bool on) {
  const uint64_t address = reinterpret_cast<uint64_t>(at), wanted = on ? jump_of(distance) : kNoOp;
  if (lies_in_word(address)) {
    uint64_t *word = reinterpret_cast<uint64_t *>(address - address % 8);
    const uint64_t shift = address % 8 * 8, old = *word, changed = (old & ~(kJumpMask << shift)) | wanted << shift;
    if (changed != old) __atomic_store_n(word, changed, __ATOMIC_SEQ_CST);
    return;
  }
  uint32_t *four = reinterpret_cast<uint32_t *>(at);
  if (*four == static_cast<uint32_t>(wanted)) return;
  if (on) __atomic_store_n(at + 4, static_cast<unsigned char>(wanted >> 32), __ATOMIC_SEQ_CST);
  __atomic_store_n(four, static_cast<uint32_t>(wanted), __ATOMIC_SEQ_CST);
}

// A site with the low bits of the return address above it (call_tag()).
inline uint32_t called_from(uint32_t site, const void *return_address) {
  return site | static_cast<uint32_t>(reinterpret_cast<uint64_t>(return_address)) << kSiteBits;
}

// What code begins with: a stub, leaq distance(%rip), %r11; a function that may be jumped to, endbr64.
constexpr unsigned char kLoad[3] = {0x4c, 0x8d, 0x1d};
constexpr uint64_t kLoadBytes = 7;
constexpr unsigned char kLanding[4] = {0xf3, 0x0f, 0x1e, 0xfa};

constexpr unsigned char kBreakpoint = 0xcc;

}  // namespace vprof

#endif
