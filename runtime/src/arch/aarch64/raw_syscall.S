/* raw_syscall.h. No frame of its own: `number` may be one that returns twice. */
        .text
        .globl vprof_raw_syscall
        .hidden vprof_raw_syscall
        .type vprof_raw_syscall, %function
        .balign 16
vprof_raw_syscall:
        .cfi_startproc
        hint #34                                        /* bti c */
        mov x8, x0
        mov x0, x1
        mov x1, x2
        mov x2, x3
        mov x3, x4
        mov x4, x5
        mov x5, x6
        svc #0
        cmn x0, #4095
        b.hs 1f
        ret
1:      b vprof_failed_syscall
        .cfi_endproc
        .size vprof_raw_syscall, . - vprof_raw_syscall

        .section .note.GNU-stack, "", %progbits
