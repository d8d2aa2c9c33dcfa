// The registers of a user-level context (context_interpose.cpp), and the way to the real makecontext.
#ifndef VPROF_CONTEXT_REGISTERS_H
#define VPROF_CONTEXT_REGISTERS_H

#include <ucontext.h>

#include <cstdint>

#include "stacks.h"

extern "C" void vprof_context_returned();

namespace vprof {

inline uint64_t stack_pointer_of(const ucontext_t *context) {
  return static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
}

// glibc lets a context's function return to code of its own, which goes on with uc_link where nobody sees it
// (sysdeps/x86_64/makecontext.c): it returns to ours first. Registers that are kept in calls tell that where to go on.
// Where the CPU checks return addresses (shadow stacks), it stays as it is.
inline void watch_the_end(ucontext_t *context, Stack stack) {
  uint64_t shadow_stack = 0;
  __asm__("rdsspq %0" : "+r"(shadow_stack));
  const uint64_t top = stack_pointer_of(context);
  if (shadow_stack != 0 || !stack.has(top)) return;
  uint64_t *return_address = reinterpret_cast<uint64_t *>(top);
  context->uc_mcontext.gregs[REG_R12] = static_cast<greg_t>(*return_address);
  *return_address = reinterpret_cast<uint64_t>(&vprof_context_returned);
}

// Arguments beyond the sixth of a call, as they lie on the stack: passed by value they lie there again.
constexpr int kInRegisters = 3, kOnStack = 253;
struct ContextArguments {
  struct OnStack {
    uint64_t words[kOnStack];
  };

  uint64_t &at(int i) { return i < kInRegisters ? first[i] : rest.words[i - kInRegisters]; }

  uint64_t first[kInRegisters];
  OnStack rest;
};
constexpr int kMostContextArguments = kInRegisters + kOnStack;

inline void make_context(void *make, ucontext_t *context, void (*function)(), int count,
                         const ContextArguments &arguments) {
  using Make = void (*)(ucontext_t *, void (*)(), int, uint64_t, uint64_t, uint64_t, ContextArguments::OnStack);
  reinterpret_cast<Make>(make)(context, function, count, arguments.first[0], arguments.first[1], arguments.first[2],
                               arguments.rest);
}

}  // namespace vprof

#endif
