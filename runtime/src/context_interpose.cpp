// User-level contexts: makecontext, swapcontext, setcontext, and boost.context's three functions, where they are called
// in its shared library. Each switch is told to fibers.h before it happens (context_switches.S).
//
// Not seen: getcontext, which needs not be; switches by instructions of the program's own, boost.context linked
// statically among them: stacks.h notices these.
#include <stdarg.h>
#include <ucontext.h>

#include "context_registers.h"
#include "fibers.h"
#include "interpose.h"

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

extern "C" {

__attribute__((visibility("default"))) void vprof_wrapped_makecontext(ucontext_t *context, void (*function)(),
                                                                      int count,
                                                                      ...) __asm__(VPROF_LABEL("makecontext"));

void vprof_wrapped_makecontext(ucontext_t *context, void (*function)(), int count, ...) {
  ContextArguments arguments = {};
  va_list list;
  va_start(list, count);
  for (int i = 0; i < count && i < kMostContextArguments; ++i) arguments.at(i) = va_arg(list, uint64_t);
  va_end(list);
  make_context(find_makecontext(), context, function, count, arguments);
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
