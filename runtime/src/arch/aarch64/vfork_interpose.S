/* vfork, wrapped to know the child (vfork.h): it runs first, in the memory and on the stack of its parent, which then goes
 * on here. The system call is made as libc makes it; the return address is in a register, which the child cannot
 * overwrite. */
#include <sys/syscall.h>

#ifdef VPROF_STATIC
#define NAME __wrap_vfork
#else
#define NAME vfork
#endif
#define CLONE_VM_AND_VFORK_WITH_SIGCHLD 0x4111
        .text
        .globl NAME
        .type NAME, %function
        .balign 16
NAME:
        .cfi_startproc
        hint #34                                        /* bti c */
        mov x0, #CLONE_VM_AND_VFORK_WITH_SIGCHLD
        mov x1, #0
        mov x2, #0
        mov x3, #0
        mov x4, #0
        mov x8, #SYS_clone
        svc #0
        cmp x0, #0
        cset w1, eq
        mrs x2, tpidr_el0
        adrp x3, :gottprel:vprof_in_vfork_child
        ldr x3, [x3, :gottprel_lo12:vprof_in_vfork_child]
        str w1, [x2, x3]
        cmn x0, #4095
        b.hs 1f
        ret
1:      b vprof_failed_syscall
        .cfi_endproc
        .size NAME, . - NAME

        .section .tbss, "awT", %nobits
        .globl vprof_in_vfork_child
        .hidden vprof_in_vfork_child
        .type vprof_in_vfork_child, %object
        .balign 4
vprof_in_vfork_child:
        .zero 4
        .size vprof_in_vfork_child, 4

        .section .note.GNU-stack, "", %progbits
