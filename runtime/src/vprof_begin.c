/* Linked first into every instrumented module (PROBE_ABI.md): starts the section of switch bytes on a page with its
 * header, starts the section behind it on the next free page, and registers the module with the runtime before its
 * other constructors run. The header is retained, since lld drops what only __start_ symbols name (--gc-sections). */
#include <stdint.h>

#include "begin_calls.h"

struct switch_header {
  char magic[8];
  uint32_t base; /* this and the next are written by the runtime */
  unsigned char lock_events;
  unsigned char zero[51];
};

__attribute__((section("vprof_switch"), aligned(4096), used, retain)) static struct switch_header header = {
    .magic = {'V', 'P', 'R', 'O', 'F', 'S', 'W', '4'}};

/* The bytes of units that are compiled at link time come last of all (lld -flto), so nothing that is linked could end
 * their section on a page. But linkers place sections of one kind in the order in which they first see them: this one
 * follows at once, and what is between are zeros. */
enum { PAGE = 4096 };
__attribute__((section("vprof_switch_end"), aligned(PAGE), used)) static unsigned char next_page[1] = {0};

extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
extern unsigned char __stop_vprof_switch[] __attribute__((visibility("hidden")));
/* Weak: where there is no libvprof, and the program was linked so that it starts nevertheless (docs/containers.md),
 * nothing is registered. vprof-cc asks for it by name in static links, which this would bring nothing into. */
extern void __vprof_register(unsigned char *start, unsigned char *stop) __attribute__((weak));

/* The records of places (vprof_prelude.h) follow, for this is linked first. They end where one is none: a symbol that
 * the linker makes of the section's end would keep them all, and so all their functions (--gc-sections). */
__attribute__((section("vprof_places"), aligned(16), used)) static const char places[16] = "vprof places";
/* An older libvprof has it not, or not what its wrapper calls. */
extern void __vprof_wrap_bodies(const char *records, const unsigned char *switches) __attribute__((weak));

/* A linker script of the program's may have put the section behind elsewhere: then the bytes end where they end. */
static unsigned char *end_of_pages(void) {
  const uintptr_t stop = (uintptr_t)__stop_vprof_switch, next = (uintptr_t)next_page;
  return next >= stop && next - stop < PAGE ? next_page : __stop_vprof_switch;
}

__attribute__((constructor(102))) static void register_module(void) {
  if (!__vprof_register) return;
  __vprof_register(__start_vprof_switch, end_of_pages());
  if (__vprof_wrap_bodies && serves_wrapper()) __vprof_wrap_bodies(places + sizeof places, __start_vprof_switch);
}
