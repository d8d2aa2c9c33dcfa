/* The functions of vprof.h for a program whose own source calls them: a program linked by vprof-cc starts without
 * libvprof, so each looks first whether it is there. In libvprof they have these names as well (CMakeLists.txt), for by
 * vprof.h's own names the linker finds those here. Rewritten code needs none of this: its references are weak, and
 * bring nothing out of an archive. */
#include <stdarg.h>
#include <stdio.h>

#pragma GCC visibility push(hidden)
#include "vprof/vprof.h"
#pragma GCC visibility pop

#define FORWARDED(function, parameters, arguments)                     \
  extern void __vprof_own_##function parameters __attribute__((weak)); \
  void vprof_##function parameters {                                   \
    if (__vprof_own_##function) __vprof_own_##function arguments;      \
  }
#define FORWARDED_ID(function) FORWARDED(function, (uint64_t id), (id))

FORWARDED(interval_begin, (uint64_t id, const char *type), (id, type))
FORWARDED(interval_begin_created, (uint64_t id, const char *type, uint64_t created_ns, int clock),
          (id, type, created_ns, clock))
FORWARDED_ID(interval_end)
FORWARDED(interval_end_typed, (uint64_t id, const char *type), (id, type))
FORWARDED_ID(interval_abort)
FORWARDED_ID(on_behalf)
FORWARDED_ID(enqueue)
FORWARDED_ID(dequeue)
FORWARDED_ID(wait_begin)
FORWARDED_ID(wait_end)
FORWARDED_ID(wake)
FORWARDED_ID(wake_done)
FORWARDED(name_waits, (uint64_t waits, const char *name), (waits, name))
FORWARDED(lock, (int step, uint64_t object, int mode, uint64_t owner), (step, object, mode, owner))

extern uint64_t __vprof_own_waits(void) __attribute__((weak));
uint64_t vprof_waits(void) {
  return __vprof_own_waits ? __vprof_own_waits() : 0;
}

extern int __vprof_own_unnamed_since(uint64_t waits) __attribute__((weak));
int vprof_unnamed_since(uint64_t waits) {
  return __vprof_own_unnamed_since ? __vprof_own_unnamed_since(waits) : 0;
}

/* As in libvprof. */
const char *vprof_text(const char *format, ...) {
  static __thread char text[64] __attribute__((tls_model("initial-exec")));
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}
