/* The functions that runtime.c measures, with the probes that vprof-cc puts into bodies. */
#include <stdint.h>

/* What vprof-rewrite puts before a unit. */
extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

void probed(void);
void probed_caller(void);

void probed(void) {
  __VPROF_PROBE(0)
  __asm__ volatile("" ::: "memory");
}

void probed_caller(void) {
  __VPROF_PROBE_CALLS(1)
  __VPROF_CALL_NUMBER(1);
  __asm__ volatile("" ::: "memory");
}
