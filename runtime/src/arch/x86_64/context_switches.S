/* Wrappers of functions that save a context and go on in another one. A saved context returns to who called, as often as
 * the program likes, so the wrapper must not have a frame in it: it prepares the switch (context_interpose.cpp) and
 * jumps to the real function, which finds stack and arguments as they came. */

#ifdef VPROF_STATIC
#define NAME(name) __wrap_##name
#else
#define NAME(name) name
#endif

        .macro SAVE register
        pushq \register
        .cfi_adjust_cfa_offset 8
        .endm
        .macro RESTORE register
        popq \register
        .cfi_adjust_cfa_offset -8
        .endm

/* `prepare` gets the arguments, and as the fourth one the address that the caller goes on at; it returns the real
 * function. */
        .macro SWITCH name, prepare
        .globl \name
        .type \name, @function
        .hidden \prepare
\name:
        .cfi_startproc
        SAVE %rdi
        SAVE %rsi
        SAVE %rdx
        movq 24(%rsp), %rcx
        call \prepare
        RESTORE %rdx
        RESTORE %rsi
        RESTORE %rdi
        jmp *%rax
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

/* Where the function of a context that makecontext made returns to, with the stack and rbx as the C library left them
 * for its own code, which is at r12: rbx points to the address of the next context. Nothing is above it: unwinding ends
 * here (a return address is looked up less 1). */
        .globl vprof_context_returned
        .hidden vprof_context_returned, vprof_finish_context
        .type vprof_context_returned, @function
        .cfi_startproc
        .cfi_undefined %rip
        nop
vprof_context_returned:
        movq (%rbx), %rdi
        call vprof_finish_context
        jmp *%r12
        .cfi_endproc
        .size vprof_context_returned, . - vprof_context_returned

        .section .note.GNU-stack, "", @progbits
