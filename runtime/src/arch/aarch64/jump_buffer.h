// Where a jump buffer of the C library leads.
#ifndef VPROF_JUMP_BUFFER_H
#define VPROF_JUMP_BUFFER_H

#include <setjmp.h>

#include <cstdint>

namespace vprof {

// glibc keeps the stack pointer xored with a guard that it does not show (sysdeps/aarch64/setjmp.S). A buffer of our
// own, whose stack pointer is known, tells it. Not inlined: the stack pointer stays where it is between the two.
__attribute__((noinline)) inline uint64_t target_stack_pointer(const jmp_buf buffer) {
  constexpr int kStackPointer = 13;
  jmp_buf own;
  uint64_t here;
  __asm__ volatile("mov %0, sp" : "=r"(here));
  if (_setjmp(own) != 0) __builtin_unreachable();
  const auto guard = static_cast<uint64_t>(own[0].__jmpbuf[kStackPointer]) ^ here;
  return static_cast<uint64_t>(buffer[0].__jmpbuf[kStackPointer]) ^ guard;
}

}  // namespace vprof

#endif
