/* raw_syscall.h. No frame of its own: `number` may be one that returns twice. */
        .text
        .globl vprof_raw_syscall
        .hidden vprof_raw_syscall
        .type vprof_raw_syscall, @function
        .balign 16
vprof_raw_syscall:
        .cfi_startproc
        endbr64
        movq %rdi, %rax
        movq %rsi, %rdi
        movq %rdx, %rsi
        movq %rcx, %rdx
        movq %r8, %r10
        movq %r9, %r8
        movq 8(%rsp), %r9
        syscall
        cmpq $-4095, %rax
        jae 1f
        ret
1:      movq %rax, %rdi
        jmp vprof_failed_syscall
        .cfi_endproc
        .size vprof_raw_syscall, . - vprof_raw_syscall

        .section .note.GNU-stack, "", @progbits
