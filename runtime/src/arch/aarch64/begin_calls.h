/* What the begin object has besides a module's header (vprof_begin.c): where its probes lead. */
#ifndef VPROF_BEGIN_CALLS_H
#define VPROF_BEGIN_CALLS_H

/* What the module's probes call (PROBE_ABI.md "Calls"): an inline assembly that has told its compiler of x9 to x17 and
 * of the return address. So this jumps on, and unwinding needs to know nothing. Through the GOT, bound when the module
 * is loaded: the resolver of a lazy PLT entry would not keep all registers. Weak: an older libvprof has not these
 * functions, and leaves the module dormant. */
#define JUMPS_ON(name, prepare, function)                                                    \
  __asm__(                                                                                   \
      ".text\n.balign 16\n"                                                                  \
      ".globl " name "\n.hidden " name "\n.type " name                                       \
      ", %function\n"                                                                        \
      ".weak " function "\n" name ":\n.cfi_startproc\n" prepare "  adrp x16, :got:" function \
      "\n  ldr x16, [x16, :got_lo12:" function "]\n  br x16\n.cfi_endproc\n.size " name ", . - " name "\n")

/* Site number: base + place of the switch byte (x9) in the section. */
#define SITE_NUMBER                              \
  ".hidden __start_vprof_switch\n"               \
  "  adrp x11, __start_vprof_switch\n"           \
  "  add x11, x11, :lo12:__start_vprof_switch\n" \
  "  sub w9, w9, w11\n"                          \
  "  ldr w12, [x11, #8]\n"                       \
  "  add w9, w9, w12\n"

JUMPS_ON("__vprof_at_entry", SITE_NUMBER, "__vprof_enter_site");
JUMPS_ON("__vprof_at_exit", "", "__vprof_leave_frame");

/* There are no probes before bodies. */
static int serves_wrapper(void) {
  return 0;
}

#endif
