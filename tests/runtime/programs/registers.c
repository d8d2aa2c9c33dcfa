/* registers: calls the three places in the begin object with known registers, the first time and again; prints which
 * of those that they keep have changed. Linked for lazy binding. */
#include "registers.h"

#include <stdio.h>

extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

void entered(void), entered_from(void), left(void);
CALLS_OF_PROBES;

static int changed;

static void check(const char *name, void (*function)(void), int first_kept, struct arguments arguments) {
  uint64_t registers[2][REGISTERS];
  fill_registers(registers[0], arguments);
  call_with_registers(function, registers);
  for (int i = first_kept; i < REGISTERS; ++i) {
    if (registers[0][i] == registers[1][i]) continue;
    printf("%s changes %s\n", name, register_names[i]);
    changed = 1;
  }
  if (!vectors_are_kept()) {
    printf("%s changes vector registers\n", name);
    changed = 1;
  }
}

int main(void) {
  char frame;
  for (int i = 0; i < 2; ++i) {
    const uint64_t sw = (uint64_t)&__vprof_sw[i], address = (uint64_t)&frame;
    check("enter", entered, BY_PROBE.kept_by_enter, (struct arguments){.probe_first = sw, .probe_second = address});
    check("leave", left, BY_PROBE.kept_by_leave, (struct arguments){.probe_first = 7, .probe_second = address});
    check("enter from", entered_from, BY_PROBE.kept_by_enter,
          (struct arguments){.probe_first = sw, .probe_second = address});
    check("leave", left, BY_PROBE.kept_by_leave, (struct arguments){.probe_first = 7, .probe_second = address});
  }
  return changed;
}
