// Finds the functions behind the wrappers of libvprof.so, and whether the wrappers are called at all (interpose.h).
#include <dlfcn.h>
#include <link.h>

#include "interpose.h"
#include "session.h"

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

// Where the library is loaded for a plugin only, the dynamic linker's usual order does not find it: then the first
// loaded object does that has it, which is not ours.
void *LibraryFunction::find() {
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

namespace {

// The first of two loaded objects in lookup order, which is the order in which the dynamic linker names them.
struct Order {
  const void *ours;
  const void *theirs;
  bool ours_first;
};

bool lies_in(const dl_phdr_info *info, const void *address) {
  const uintptr_t place = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && place >= start && place < start + segment.p_memsz) return true;
  }
  return false;
}

int visit_object(dl_phdr_info *info, size_t, void *data) {
  Order *order = static_cast<Order *>(data);
  order->ours_first = lies_in(info, order->ours);
  return order->ours_first || lies_in(info, order->theirs);
}

bool is_ours(const void *function) {
  Dl_info found, own;
  return function != nullptr && dladdr(function, &found) != 0 &&
         dladdr(reinterpret_cast<const void *>(&visit_object), &own) != 0 && found.dli_fbase == own.dli_fbase;
}

// Whether calls of `name` reach our wrapper: the name means ours, or that of a library before us (a sanitizer's), whose
// next one is ours, since we come before the C library. Nothing comes behind us in a program that is linked with an
// instrumented library: that brought us in after the program's own libraries.
bool is_in_force(const char *name) {
  if (is_ours(dlsym(RTLD_DEFAULT, name))) return true;
  Order order = {reinterpret_cast<const void *>(&visit_object), dlsym(RTLD_NEXT, name), false};
  if (order.theirs == nullptr) return false;
  dl_iterate_phdr(visit_object, &order);
  return order.ours_first;
}

}  // namespace

__attribute__((constructor(101))) static void look_up_all() {
  for (const RealFunction *f = __start_vprof_real; f < __stop_vprof_real; ++f) look_up(*f);
  g_session.behind_libc = !is_in_force("pthread_mutex_lock") || !is_in_force("read");
}

}  // namespace vprof
