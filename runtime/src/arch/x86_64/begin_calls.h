/* What the begin object has besides a module's header (vprof_begin.c): where its probes lead. */
#ifndef VPROF_BEGIN_CALLS_H
#define VPROF_BEGIN_CALLS_H

#include <stdint.h>

#include "../../entry_offsets.h"

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)

/* What the module's probes call (PROBE_ABI.md "Calls"): an inline assembly, which has moved the stack pointer below the
 * red zone; they move it back. Its compiler need not know of any call: the stack may be misaligned, and unwinding
 * works, for the frame here is described as if it had those 128 bytes. From here on through the GOT, bound when the
 * module is loaded: the resolver of a lazy PLT entry would not keep all registers. Weak: an older libvprof has not
 * these functions, and leaves the module dormant. */
#define CALLED_BELOW(name, prepare, function)                                         \
  __asm__(                                                                            \
      ".text\n"                                                                       \
      ".globl " name "\n.hidden " name "\n.type " name                                \
      ", @function\n"                                                                 \
      ".weak " function "\n" name                                                     \
      ":\n"                                                                           \
      ".cfi_startproc\n"                                                              \
      ".cfi_def_cfa_offset 136\n.cfi_offset %rip, -136\n" prepare "  call *" function \
      "@GOTPCREL(%rip)\n"                                                             \
      "  ret $128\n"                                                                  \
      ".cfi_endproc\n"                                                                \
      ".size " name ", . - " name "\n")

/* Site number: base + place of the switch byte (rax) in the section. */
#define SITE_NUMBER                           \
  ".hidden __start_vprof_switch\n"            \
  "  leaq __start_vprof_switch(%rip), %r11\n" \
  "  subl %r11d, %eax\n"                      \
  "  addl 8(%r11), %eax\n"

/* What r11 has above the site, in eax; its number of bits is what a record has room for. */
#define WITH_RETURN_ADDRESS "  shll $" TEXT_OF(VPROF_SITE_BITS) ", %r11d\n  orl %r11d, %eax\n"

CALLED_BELOW("__vprof_at_entry", SITE_NUMBER, "__vprof_enter_site");
CALLED_BELOW("__vprof_at_exit", "", "__vprof_leave_frame");
/* r11: the probed function's return address. If that is the wrapper below, then the body with this probe is a copy that
 * was expanded in the wrapped function, and what tells it from others is where this returns to. */
CALLED_BELOW("__vprof_at_entry_called",
             "  cmpq $0, __vprof_enter_called@GOTPCREL(%rip)\n"
             "  je __vprof_at_entry\n"
             "  pushq %rax\n.cfi_adjust_cfa_offset 8\n"
             "  leaq .Lvprof_wrapped(%rip), %rax\n"
             "  cmpq %rax, %r11\n"
             "  cmoveq 8(%rsp), %r11\n"
             "  popq %rax\n.cfi_adjust_cfa_offset -8\n"
             "  pushq %r11\n.cfi_adjust_cfa_offset 8\n" SITE_NUMBER
             "  popq %r11\n.cfi_adjust_cfa_offset -8\n" WITH_RETURN_ADDRESS,
             "__vprof_enter_called");

/* Where the stub of a function leads whose probe is before its body (vprof_prelude.h); r11: its pair, the address of
 * the body and that of the switch byte. The function's arguments are all in other registers than rax, r10 and r11, none
 * is on the stack. Off, it goes on as if it had not been here. On, it is a function between the caller and the body:
 * the return address stays where it is, so that unwinding and jumps work as through any other, also by frame pointers.
 * Its frame is the first word of its own that it uses for nothing else. It says from where it was called, and that what
 * the body calls has no other number (PROBE_ABI.md "Call numbers"). What an exception leaves ends in the function
 * below, which the unwinder calls for that frame: no landing pad, no C++ library. */
__asm__(
    ".text\n.balign 64\n"
    ".globl __vprof_wrapper\n.hidden __vprof_wrapper\n.type __vprof_wrapper, @function\n"
    "__vprof_wrapper:\n"
    ".cfi_startproc\n.cfi_personality 0x1b, __vprof_unwound\n"
    "  movq 8(%r11), %rax\n"
    "  cmpb $1, (%rax)\n"
    "  jne 1f\n"
    "  pushq %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0\n"
    "  movq %rsp, %rbp\n"
    "  subq $16, %rsp\n.cfi_adjust_cfa_offset 16\n"
    "  movq %r11, (%rsp)\n" SITE_NUMBER
    "  movl 24(%rsp), %r11d\n" WITH_RETURN_ADDRESS
    "  leaq 8(%rsp), %r10\n"
    "  call *__vprof_enter_called@GOTPCREL(%rip)\n"
    "  movl $" TEXT_OF(VPROF_BY_RETURN_ADDRESS) ", %r11d\n"
    "  movw %r11w, (%rax)\n"
    "  movq (%rsp), %r11\n"
    "  call *(%r11)\n"
    ".Lvprof_wrapped:\n"
    "  leaq 8(%rsp), %r10\n"
    "  call *__vprof_leave_frame@GOTPCREL(%rip)\n"
    "  addq $16, %rsp\n.cfi_adjust_cfa_offset -16\n"
    "  popq %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp\n"
    "  ret\n"
    "1:  jmp *(%r11)\n"
    ".cfi_endproc\n"
    ".size __vprof_wrapper, . - __vprof_wrapper\n");

extern const char __vprof_enter_called[] __attribute__((weak));
static int serves_wrapper(void) {
  return __vprof_enter_called != 0;
}

/* The unwinder's; there is none in many programs of C. What it calls the CFA of a frame is the stack pointer there, not
 * where the caller's frame ends. */
struct _Unwind_Context;
extern uintptr_t _Unwind_GetCFA(struct _Unwind_Context *context) __attribute__((weak));
extern void __vprof_leave(void *frame) __attribute__((weak));

__attribute__((used, visibility("hidden"))) int __vprof_unwound(int version, int actions, uint64_t class,
                                                                void *exception, struct _Unwind_Context *context) {
  enum { CLEANUP_PHASE = 2, CONTINUE_UNWIND = 8 };
  (void)version, (void)class, (void)exception;
  if ((actions & CLEANUP_PHASE) && _Unwind_GetCFA && __vprof_leave)
    __vprof_leave((void *)(_Unwind_GetCFA(context) + sizeof(uintptr_t)));
  return CONTINUE_UNWIND;
}

/* Objects that an older vprof compiled jump here, the place to continue in r11: nothing is recorded of them. */
#define OF_OLDER_OBJECTS(name, instructions)                                                                    \
  __asm__(".text\n.globl " name "\n.hidden " name "\n.type " name ", @function\n" name                          \
          ":\n.cfi_startproc\n.cfi_def_cfa %rsp, 0\n.cfi_register %rip, %r11\n" instructions                    \
          "  jmp *%r11\n.cfi_endproc\n.size " name ", . - " name "\n.pushsection .gnu.warning." name            \
          "\n.string \"compiled by an older vprof: its functions are not recorded until it is compiled again\"" \
          "\n.popsection\n")

OF_OLDER_OBJECTS("__vprof_entered", "  movq %r10, %rax\n");
OF_OLDER_OBJECTS("__vprof_left", "");

#endif
