// The registers of a user-level context (context_interpose.cpp), and the way to the real makecontext.
#ifndef VPROF_CONTEXT_REGISTERS_H
#define VPROF_CONTEXT_REGISTERS_H

#include <ucontext.h>

#include <cstdint>
#include <utility>

#include "stacks.h"

extern "C" void vprof_context_returned();

namespace vprof {

inline uint64_t stack_pointer_of(const ucontext_t *context) {
  return context->uc_mcontext.sp;
}

// Whether the CPU checks return addresses (guarded control stacks): the instruction clears the bits of what is on, and
// is a no-op where it is not known.
inline bool return_addresses_are_checked() {
  uint64_t feature;
  __asm__("mov x16, #1\n\thint #40\n\tmov %0, x16" : "=r"(feature) : : "x16");
  return feature == 0;
}

// glibc lets a context's function return to code of its own, which goes on with uc_link where nobody sees it
// (sysdeps/unix/sysv/linux/aarch64/makecontext.c): it returns to ours first. Registers that are kept in calls tell that
// where to go on.
inline void watch_the_end(ucontext_t *context, Stack stack) {
  constexpr int kNextCode = 20, kReturnAddress = 30;
  if (return_addresses_are_checked() || !stack.has(stack_pointer_of(context) - 1)) return;
  unsigned long long *registers = context->uc_mcontext.regs;
  registers[kNextCode] = registers[kReturnAddress];
  registers[kReturnAddress] = reinterpret_cast<uint64_t>(&vprof_context_returned);
}

constexpr int kMostContextArguments = 256;
struct ContextArguments {
  uint64_t &at(int i) { return words[i]; }

  uint64_t words[kMostContextArguments];
};

template <size_t... I>
void make_context(void *make, ucontext_t *context, void (*function)(), int count, const ContextArguments &arguments,
                  std::index_sequence<I...>) {
  using Make = void (*)(ucontext_t *, void (*)(), int, ...);
  reinterpret_cast<Make>(make)(context, function, count, arguments.words[I]...);
}

// With all of them: the C library takes `count`.
inline void make_context(void *make, ucontext_t *context, void (*function)(), int count,
                         const ContextArguments &arguments) {
  make_context(make, context, function, count, arguments, std::make_index_sequence<kMostContextArguments>());
}

}  // namespace vprof

#endif
