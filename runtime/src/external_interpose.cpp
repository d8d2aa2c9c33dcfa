// External calls: functions of the C library in which servers wait for the kernel (external_functions.def), wrapped so
// that each has a site of its own, a leaf below its callers.
//
// As in interpose.h the symbols here come before libc's. While its switch byte is off a wrapper is one test
// and one jump to the real function: no frame, and a session makes no difference. On, it is an ordinary probe
// (PROBE_ABI.md) around the real call. The real functions keep all their meaning: errno, checks of -D_FORTIFY_SOURCE,
// cancellation (a thread cancelled there, or a handler's longjmp, leaves the frame behind: it ends as ABANDONED).
//
// Not seen: calls that libc makes itself (stdio, system), direct system calls, calls inside libvprof (which makes none
// after it has attached). Not in libvprof.a: a static program has no next definition to look up.
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern "C" {
extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
extern unsigned char vprof_external_switches[] __attribute__((visibility("hidden")));  // external_sites.S
unsigned short *__vprof_enter(uint32_t site, void *frame);
void __vprof_leave(void *frame);
}

namespace vprof {
namespace {

// Index of a function's switch byte.
enum Site : uint32_t {
#define VPROF_EXTERNAL(type, name, parameters, arguments) kSite_##name,
#include "external_functions.def"
};

// What the list says is what the headers say. The optional argument of open and openat is passed on as it came: garbage
// where there is none, and then libc does not read it.
#define VPROF_EXTERNAL(type, name, parameters, arguments) \
  static_assert(sizeof(static_cast<type(*) parameters>(&::name)) != 0);
#define VPROF_EXTERNAL_VARIADIC(type, name, parameters, arguments)
#include "external_functions.def"

template <typename F>
void look_up(F &f, const char *name) {
  f = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool is_on(Site site) {
  return __builtin_expect(__atomic_load_n(&vprof_external_switches[site], __ATOMIC_RELAXED) == 1, 0);
}

uint32_t site_number(Site site) {
  uint32_t base;
  memcpy(&base, __start_vprof_switch + 8, sizeof base);
  return base + static_cast<uint32_t>(&vprof_external_switches[site] - __start_vprof_switch);
}

}  // namespace

// Each real function's pointer first leads to one that looks it up: a constructor of another library, or a malloc, may
// call before ours has run.
#define VPROF_WRAP(type, symbol, name, parameters, arguments)                                                 \
  static type first_##symbol parameters;                                                                      \
  static type(*real_##symbol) parameters = first_##symbol;                                                    \
  static type first_##symbol parameters {                                                                     \
    look_up(real_##symbol, #symbol);                                                                          \
    return real_##symbol arguments;                                                                           \
  }                                                                                                           \
  extern "C" __attribute__((visibility("default"))) type vprof_external_##symbol parameters __asm__(#symbol); \
  extern "C" type vprof_external_##symbol parameters {                                                        \
    if (!is_on(kSite_##name)) return real_##symbol arguments;                                                 \
    volatile char frame = 0;                                                                                  \
    __vprof_enter(site_number(kSite_##name), const_cast<char *>(&frame));                                     \
    const type result = real_##symbol arguments;                                                              \
    __vprof_leave(const_cast<char *>(&frame));                                                                \
    return result;                                                                                            \
  }
#define VPROF_EXTERNAL(type, name, parameters, arguments) VPROF_WRAP(type, name, name, parameters, arguments)
#define VPROF_EXTERNAL_ALIAS VPROF_WRAP
#include "external_functions.def"

// Before main: a look-up is not safe in a signal handler.
__attribute__((constructor(101))) static void look_up_all() {
#define VPROF_EXTERNAL(type, name, parameters, arguments) look_up(real_##name, #name);
#define VPROF_EXTERNAL_ALIAS(type, symbol, name, parameters, arguments) look_up(real_##symbol, #symbol);
#include "external_functions.def"
}

}  // namespace vprof
