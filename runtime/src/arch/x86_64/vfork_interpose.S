/* vfork, wrapped to know the child (vfork.h): it runs first, in the memory and on the stack of its parent, which then goes
 * on here. The system call is made as libc makes it; the return address is kept in a register meanwhile, since the child
 * overwrites its place. */
#include <sys/syscall.h>

#ifdef VPROF_STATIC
#define NAME __wrap_vfork
#else
#define NAME vfork
#endif
        .text
        .globl NAME
        .type NAME, @function
        .balign 16
NAME:
        .cfi_startproc
        endbr64
        popq %rdi
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rdi
        movl $SYS_vfork, %eax
        syscall
        pushq %rdi
        .cfi_adjust_cfa_offset 8
        .cfi_offset %rip, -8
        xorl %ecx, %ecx
        testq %rax, %rax
        sete %cl
        movq vprof_in_vfork_child@gottpoff(%rip), %rdx
        movl %ecx, %fs:(%rdx)
        cmpq $-4095, %rax
        jae 1f
        ret
1:      movq %rax, %rdi
        jmp vprof_failed_syscall
        .cfi_endproc
        .size NAME, . - NAME

        .section .tbss, "awT", @nobits
        .globl vprof_in_vfork_child
        .hidden vprof_in_vfork_child
        .type vprof_in_vfork_child, @object
        .balign 4
vprof_in_vfork_child:
        .zero 4
        .size vprof_in_vfork_child, 4

        .section .note.GNU-stack, "", @progbits
