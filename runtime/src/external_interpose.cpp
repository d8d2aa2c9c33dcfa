// External calls: functions of the C library in which servers wait for the kernel (external_functions.def), wrapped so
// that each has a site of its own, a leaf below its callers.
//
// Without a session a wrapper (interpose.h) is one test and one jump to the real function. With one, waits and releases
// are recorded (external_calls.h), and while the switch byte is on there is an ordinary probe (PROBE_ABI.md) around it.
// On or off, what the thread was off the CPU for in the call is told apart from what it was before: a call is where it
// blocks, elsewhere it is preempted.
// The real functions keep all their meaning: errno, checks of -D_FORTIFY_SOURCE, cancellation (a thread cancelled
// there, or a handler's longjmp, leaves the frame behind: it ends as ABANDONED).
//
// Not seen: calls that libc makes itself (stdio, system), direct system calls, calls inside libvprof (which makes raw
// ones after it has attached).
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

#include "external_calls.h"
#include "interpose.h"
#include "slept_for.h"
#include "text_instructions.h"

extern "C" {
extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
extern unsigned char vprof_external_switches[] __attribute__((visibility("hidden")));  // external_sites.S
unsigned short *__vprof_enter(uint32_t called, void *frame);
void __vprof_leave(void *frame);
}

namespace vprof {
namespace {

// What the list says is what the headers say. The optional argument of open and openat is passed on as it came: garbage
// where there is none, and then libc does not read it.
#define VPROF_EXTERNAL(type, name, parameters, arguments) \
  static_assert(sizeof(static_cast<type(*) parameters>(&::name)) != 0);
#define VPROF_EXTERNAL_VARIADIC(type, name, parameters, arguments)
#include "external_functions.def"

bool is_on(Site site) {
  return __builtin_expect(__atomic_load_n(&vprof_external_switches[site], __ATOMIC_RELAXED) == 1, 0);
}

uint32_t site_number(Site site) {
  uint32_t base;
  memcpy(&base, __start_vprof_switch + 8, sizeof base);
  return base + static_cast<uint32_t>(&vprof_external_switches[site] - __start_vprof_switch);
}

}  // namespace

#define VPROF_ARGUMENTS(...) __VA_ARGS__
#define VPROF_WRAP(type, symbol, name, parameters, arguments)                                                         \
  VPROF_INTERPOSE(type, symbol, parameters, arguments) {                                                              \
    if (!attached()) return real_##symbol arguments;                                                                  \
    const auto make = [&] { return real_##symbol arguments; };                                                        \
    volatile char frame = 0;                                                                                          \
    const bool on = is_on(kSite_##name);                                                                              \
    if (on)                                                                                                           \
      __vprof_enter(called_from(site_number(kSite_##name), __builtin_return_address(0)), const_cast<char *>(&frame)); \
    else                                                                                                              \
      look_before_call();                                                                                             \
    recount_before_call(kSite_##name, VPROF_ARGUMENTS arguments);                                                     \
    const type result = call(Called<kSite_##name>{}, make, VPROF_ARGUMENTS arguments);                                \
    look_after_call(kSite_##name, VPROF_ARGUMENTS arguments);                                                         \
    if (on) __vprof_leave(const_cast<char *>(&frame));                                                                \
    return result;                                                                                                    \
  }
#define VPROF_EXTERNAL(type, name, parameters, arguments) VPROF_WRAP(type, name, name, parameters, arguments)
#define VPROF_EXTERNAL_ALIAS VPROF_WRAP
#include "external_functions.def"

}  // namespace vprof
