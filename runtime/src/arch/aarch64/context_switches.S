/* Wrappers of functions that save a context and go on in another one. A saved context returns to who called, as often as
 * the program likes, so the wrapper must not have a frame in it: it prepares the switch (context_interpose.cpp) and
 * jumps to the real function, which finds stack and arguments as they came. */

#ifdef VPROF_STATIC
#define NAME(name) __wrap_##name
#else
#define NAME(name) name
#endif

/* `prepare` gets the arguments, and as the fourth one the address that the caller goes on at; it returns the real
 * function. */
        .macro SWITCH name, prepare
        .globl \name
        .type \name, %function
        .hidden \prepare
\name:
        .cfi_startproc
        hint #34                                        /* bti c */
        stp x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov x29, sp
        stp x0, x1, [sp, #16]
        str x2, [sp, #32]
        mov x3, x30
        bl \prepare
        mov x16, x0
        ldr x2, [sp, #32]
        ldp x0, x1, [sp, #16]
        ldp x29, x30, [sp], #48
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        br x16
        .cfi_endproc
        .size \name, . - \name
        .endm

        .text
        SWITCH NAME(swapcontext), vprof_before_swapcontext
        SWITCH NAME(setcontext), vprof_before_setcontext
#ifndef VPROF_STATIC
        SWITCH jump_fcontext, vprof_before_jump_fcontext
        SWITCH ontop_fcontext, vprof_before_ontop_fcontext
#endif

/* Where the function of a context that makecontext made returns to, with the stack and x19 as the C library left them
 * for its own code, which is at x20: x19 is the address of the next context. Nothing is above it: unwinding ends here (a
 * return address is looked up less 1). By `ret`, which may go anywhere (branch target identification). */
        .globl vprof_context_returned
        .hidden vprof_context_returned, vprof_finish_context
        .type vprof_context_returned, %function
        .cfi_startproc
        .cfi_undefined x30
        nop
vprof_context_returned:
        mov x0, x19
        bl vprof_finish_context
        ret x20
        .cfi_endproc
        .size vprof_context_returned, . - vprof_context_returned

        .section .note.GNU-stack, "", %progbits
