// Finds the functions behind the wrappers of libvprof.so (interpose.h).
#include <dlfcn.h>

#include "interpose.h"

extern "C" {
extern vprof::RealFunction __start_vprof_real[] __attribute__((visibility("hidden")));
extern vprof::RealFunction __stop_vprof_real[] __attribute__((visibility("hidden")));
}

namespace vprof {

// Another definition than libc's may have no versions.
void look_up(const RealFunction &function) {
  void *found = function.version != nullptr ? dlvsym(RTLD_NEXT, function.name, function.version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, function.name);
  if (found != nullptr) *function.pointer = found;
}

__attribute__((constructor(101))) static void look_up_all() {
  for (const RealFunction *f = __start_vprof_real; f < __stop_vprof_real; ++f) look_up(*f);
}

}  // namespace vprof
