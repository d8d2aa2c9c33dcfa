// boost.context, called in its shared library: a context is an address on the stack that it was left at.
//
// A context that ends says so to nobody: it jumps to another one for the last time. It is over when its stack is used
// again. Static programs and those that link boost.context statically call it past us (stacks.h).
#include "fibers.h"
#include "interpose.h"

namespace vprof {

extern "C" {
void jump_fcontext();
void ontop_fcontext();
__attribute__((visibility("default"))) void *make_fcontext(void *top, size_t bytes, void (*function)());

void *vprof_before_jump_fcontext(void *to) {
  static LibraryFunction real = {"jump_fcontext", reinterpret_cast<void *>(&jump_fcontext), nullptr};
  go_to(reinterpret_cast<uint64_t>(to));
  return real.find();
}

void *vprof_before_ontop_fcontext(void *to) {
  static LibraryFunction real = {"ontop_fcontext", reinterpret_cast<void *>(&ontop_fcontext), nullptr};
  go_to(reinterpret_cast<uint64_t>(to));
  return real.find();
}

void *make_fcontext(void *top, size_t bytes, void (*function)()) {
  static LibraryFunction real = {"make_fcontext", reinterpret_cast<void *>(&make_fcontext), nullptr};
  const uint64_t high = reinterpret_cast<uint64_t>(top);
  begin_fiber({high - bytes, high});
  return reinterpret_cast<void *(*)(void *, size_t, void (*)())>(real.find())(top, bytes, function);
}
}

}  // namespace vprof
