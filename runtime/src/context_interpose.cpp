// User-level contexts: makecontext, swapcontext, setcontext, and boost.context's three functions, where they are called
// in its shared library. Each switch is told to fibers.h before it happens (context_switches.S).
//
// Not seen: getcontext, which needs not be; switches by instructions of the program's own, boost.context linked
// statically among them: stacks.h notices these.
#include <stdarg.h>
#include <ucontext.h>

#include "fibers.h"
#include "interpose.h"

extern "C" void vprof_context_returned();

namespace vprof {

// The ways to the real ones. They are jumped to, so their types do not matter.
#ifdef VPROF_STATIC
#define VPROF_REAL_CONTEXT(name)                          \
  extern "C" void real_##name() __asm__("__real_" #name); \
  static void *find_##name() {                            \
    return reinterpret_cast<void *>(&real_##name);        \
  }
#else
#define VPROF_REAL_CONTEXT(name)                                                                                   \
  static void *real_##name;                                                                                        \
  __attribute__((section("vprof_real"), used)) static vprof::RealFunction looked_up_##name = {&real_##name, #name, \
                                                                                              nullptr};            \
  static void *find_##name() {                                                                                     \
    if (real_##name == nullptr) vprof::look_up(looked_up_##name);                                                  \
    return real_##name;                                                                                            \
  }
#endif

VPROF_REAL_CONTEXT(makecontext)
VPROF_REAL_CONTEXT(swapcontext)
VPROF_REAL_CONTEXT(setcontext)

static uint64_t stack_pointer_of(const ucontext_t *context) {
  return static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
}

// glibc lets a context's function return to code of its own, which goes on with uc_link where nobody sees it
// (sysdeps/x86_64/makecontext.c): it returns to ours first. Registers that are kept in calls tell that where to go on.
// Where the CPU checks return addresses (shadow stacks), it stays as it is.
static void watch_the_end(ucontext_t *context, Stack stack) {
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
struct OnStack {
  uint64_t words[kOnStack];
};

extern "C" {

__attribute__((visibility("default"))) void vprof_wrapped_makecontext(ucontext_t *context, void (*function)(),
                                                                      int count,
                                                                      ...) __asm__(VPROF_LABEL("makecontext"));

void vprof_wrapped_makecontext(ucontext_t *context, void (*function)(), int count, ...) {
  uint64_t first[kInRegisters] = {};
  OnStack rest = {};
  va_list arguments;
  va_start(arguments, count);
  for (int i = 0; i < count && i < kInRegisters + kOnStack; ++i)
    (i < kInRegisters ? first[i] : rest.words[i - kInRegisters]) = va_arg(arguments, uint64_t);
  va_end(arguments);
  using Make = void (*)(ucontext_t *, void (*)(), int, uint64_t, uint64_t, uint64_t, OnStack);
  reinterpret_cast<Make>(find_makecontext())(context, function, count, first[0], first[1], first[2], rest);
  const uint64_t low = reinterpret_cast<uint64_t>(context->uc_stack.ss_sp);
  const Stack stack = {low, low + context->uc_stack.ss_size};
  if (!attached()) return;
  begin_fiber(stack);
  watch_the_end(context, stack);
}

void *vprof_before_swapcontext(const ucontext_t *, const ucontext_t *to) {
  go_to(stack_pointer_of(to));
  return find_swapcontext();
}

void *vprof_before_setcontext(const ucontext_t *to) {
  go_to(stack_pointer_of(to));
  return find_setcontext();
}

void vprof_finish_context(const ucontext_t *next) {
  if (next != nullptr) finish_fiber(stack_pointer_of(next));
}
}

}  // namespace vprof
