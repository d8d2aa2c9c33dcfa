// boost.context, called in its shared library: a context is an address on the stack that it was left at.
//
// A context that ends says so to nobody: it jumps to another one for the last time. It is over when its stack is used
// again. Static programs and those that link boost.context statically call it past us (stacks.h).
#include <dlfcn.h>
#include <link.h>

#include "fibers.h"
#include "interpose.h"

namespace vprof {

namespace {

// The real functions of this name. Where the library is loaded for a plugin only, the dynamic linker's usual order does
// not find it: then the first loaded object does that has it, which is not ours.
struct Real {
  const char *name;
  void *ours;
  void *real;

  void *find();
};

void *Real::find() {
  if (real != nullptr) return real;
  real = dlsym(RTLD_NEXT, name);
  void *all = real == nullptr ? dlopen(nullptr, RTLD_LAZY) : nullptr;
  link_map *object = nullptr;
  if (all != nullptr && dlinfo(all, RTLD_DI_LINKMAP, &object) != 0) object = nullptr;
  for (; object != nullptr && real == nullptr; object = object->l_next) {
    void *handle = dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
    void *found = handle != nullptr ? dlsym(handle, name) : nullptr;
    if (found != ours) real = found;
  }
  return real;
}

}  // namespace

extern "C" {
void jump_fcontext();
void ontop_fcontext();
__attribute__((visibility("default"))) void *make_fcontext(void *top, size_t bytes, void (*function)());

void *vprof_before_jump_fcontext(void *to) {
  static Real real = {"jump_fcontext", reinterpret_cast<void *>(&jump_fcontext), nullptr};
  go_to(reinterpret_cast<uint64_t>(to));
  return real.find();
}

void *vprof_before_ontop_fcontext(void *to) {
  static Real real = {"ontop_fcontext", reinterpret_cast<void *>(&ontop_fcontext), nullptr};
  go_to(reinterpret_cast<uint64_t>(to));
  return real.find();
}

void *make_fcontext(void *top, size_t bytes, void (*function)()) {
  static Real real = {"make_fcontext", reinterpret_cast<void *>(&make_fcontext), nullptr};
  const uint64_t high = reinterpret_cast<uint64_t>(top);
  begin_fiber({high - bytes, high});
  return reinterpret_cast<void *(*)(void *, size_t, void (*)())>(real.find())(top, bytes, function);
}
}

}  // namespace vprof
