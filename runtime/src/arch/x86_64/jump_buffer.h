// Where a jump buffer of the C library leads.
#ifndef VPROF_JUMP_BUFFER_H
#define VPROF_JUMP_BUFFER_H

#include <setjmp.h>

#include <cstdint>

namespace vprof {

// glibc keeps the stack pointer as the seventh word, xored with the thread's guard and rotated (sysdeps/x86_64).
inline uint64_t target_stack_pointer(const jmp_buf buffer) {
  constexpr int kStackPointer = 6;
  uint64_t pointer = static_cast<uint64_t>(buffer[0].__jmpbuf[kStackPointer]);
  __asm__("ror $17, %0; xor %%fs:0x30, %0" : "+r"(pointer) : : "cc");
  return pointer;
}

}  // namespace vprof

#endif
