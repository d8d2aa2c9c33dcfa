/* registers: calls the two functions of the begin object with known registers, the first time and again; prints which
 * of those that they keep have changed. Linked for lazy binding. */
#include "registers.h"

#include <stdio.h>

extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

static int changed;

static void check(const char *name, void (*function)(void), int first_kept, uint64_t rdi, uint64_t rsi) {
  uint64_t registers[2][REGISTERS];
  fill_registers(registers[0], 7, rdi, rsi);
  call_with_registers(function, registers);
  for (int i = first_kept; i < REGISTERS; ++i) {
    if (registers[0][i] == registers[1][i]) continue;
    printf("%s changes %s\n", name, register_names[i]);
    changed = 1;
  }
}

int main(void) {
  char frame;
  for (int i = 0; i < 2; ++i) {
    check("enter", (void (*)(void))__vprof_entered, KEPT_BUT_RESULT, (uint64_t)&__vprof_sw[i], (uint64_t)&frame);
    check("leave", (void (*)(void))__vprof_left, KEPT, (uint64_t)&frame, 7);
  }
  return changed;
}
