/* Linked first into every instrumented module (PROBE_ABI.md): starts the section of switch bytes on a page with its
 * header, and registers the module with the runtime before its other constructors run. The header is retained, since
 * lld drops what only __start_ symbols name (--gc-sections). */
#include <stdint.h>

struct switch_header {
  char magic[8];
  uint32_t base; /* written by the runtime */
  uint32_t zero[13];
};

__attribute__((section("vprof_switch"), aligned(4096), used, retain)) static struct switch_header header = {
    .magic = {'V', 'P', 'R', 'O', 'F', 'S', 'W', '2'}};

extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
extern unsigned char __stop_vprof_switch[] __attribute__((visibility("hidden")));
extern void __vprof_register(unsigned char *start, unsigned char *stop);

__attribute__((constructor(102))) static void register_module(void) {
  __vprof_register(__start_vprof_switch, __stop_vprof_switch);
}
