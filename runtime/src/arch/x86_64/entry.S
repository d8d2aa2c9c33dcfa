/* The hot path: what an instrumented function calls at entry and exit while its switch byte is not 0 (PROBE_ABI.md).
 *
 * The floor is two reads of the clock and one 16-byte record per call; nothing here allocates, locks, blocks or makes a
 * system call. The clock is read last in enter and first in leave, so the rest is not in the function's time.
 *
 * In assembly because of the registers: those of a probed function are kept but for r10, r11, the flags and enter's rax,
 * so that its compiler need not know of a call. Only what is used is saved: two registers in enter, four in leave; the
 * vector registers where the slow functions are called, which are compiled.
 *
 * Slots are shared memory, which others may overwrite: the depth is compared before it is an index, the ring's mask is
 * the process's own, its place a constant (arena.h).
 *
 * These are enter_quickly() and leave_quickly() of shadow_stack.h, whose rules for signal handlers fix the order of the
 * stores (that the CPU keeps). The outermost frame is usual as well; all else goes to the slow functions of probe.cpp. */
#include "../../entry_offsets.h"

#define T_THREAD _ZN5vprof8t_threadE
#define SITE_MASK ((1 << VPROF_SITE_BITS) - 1)
        .hidden T_THREAD

        .macro SAVE register
        pushq \register
        .cfi_adjust_cfa_offset 8
        .endm
        .macro RESTORE register
        popq \register
        .cfi_adjust_cfa_offset -8
        .endm
/* Clang 19 goes on to count from the offset before the restored one. */
        .macro RESTORE_STATE offset
        .cfi_restore_state
        .cfi_def_cfa_offset \offset
        .endm
/* Calls function(first, second, rcx), which is compiled; keeps all registers but rax, rcx, rdx, r10 and r11. */
        .macro CALL_KEEPING_VECTORS function, first, second
        SAVE %rsi
        SAVE %rdi
        SAVE %r8
        SAVE %r9
        .ifnb \first
        movq \first, %rdi
        .endif
        .ifnb \second
        movq \second, %rsi
        .endif
        leaq \function(%rip), %r11
        call call_keeping_vectors
        RESTORE %r9
        RESTORE %r8
        RESTORE %rdi
        RESTORE %rsi
        .endm
        .macro ENTRY name
        .globl \name
        .type \name, @function
        .endm
/* What enter begins with: goes to .Lenter_slowly, to .Loutermost, or on with rcx: the new frame's call number, r11: the
 * frame, but for VPROF_SLOT_FRAMES, rdx: what the caller has stored as its number. */
        .macro ENTER_BELOW
        SAVE %rdx
        SAVE %rcx
        movq T_THREAD@gottpoff(%rip), %rcx
        movq %fs:VPROF_THREAD_TSC_SLOT(%rcx), %r11
        testq %r11, %r11
        jz .Lenter_slowly
        movq %fs:VPROF_THREAD_CALLS(%rcx), %rcx
        movl VPROF_SLOT_DEPTH(%r11), %edx
        testl %edx, %edx
        jz .Loutermost
        cmpl $VPROF_MAX_FRAMES, %edx
        jae .Lenter_slowly                              /* full; or overwritten */
        leaq (%rcx, %rdx, 2), %rcx
        shlq $VPROF_FRAME_SHIFT, %rdx
        cmpq %r10, VPROF_SLOT_FRAMES - (1 << VPROF_FRAME_SHIFT) + VPROF_FRAME_ADDRESS(%r11, %rdx)
        jbe .Lenter_slowly                              /* a dead frame */
        incl VPROF_SLOT_DEPTH(%r11)
        addq %rdx, %r11
        movzwl -2(%rcx), %edx
        .endm

        .text
/* uint16_t *__vprof_enter_site(eax = site, r10 = frame): rax is the place of the frame's call number. */
        .balign 64
        ENTRY __vprof_enter_site
__vprof_enter_site:
        .cfi_startproc
        ENTER_BELOW
        shlq $32, %rax                                  /* rax: the tag without its number */
        shlq $32 + VPROF_SITE_BITS, %rdx                /* the low bits of the caller's number */
        orq %rdx, %rax
.Lfill:
        movq %rax, VPROF_SLOT_FRAMES + VPROF_FRAME_TAG(%r11)
        rdtsc
        shlq $32, %rdx
        orq %rdx, %rax
        movq %rax, VPROF_SLOT_FRAMES + VPROF_FRAME_START(%r11)
        movq %r10, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11)
        movq vprof_switch_word(%rip), %rdx
        cmpq $0, %fs:(%rdx)
        je .Lenter_looking
        movq T_THREAD@gottpoff(%rip), %rdx
        cmpq %fs:VPROF_THREAD_LOOK_BY(%rdx), %rax
        ja .Lenter_looking
        movq %rcx, %rax
        .cfi_remember_state
        RESTORE %rcx
        RESTORE %rdx
        ret
        RESTORE_STATE 24

.Loutermost:
        andl $SITE_MASK, %eax
        shlq $32, %rax
        movl $1, VPROF_SLOT_DEPTH(%r11)
        jmp .Lfill

/* rcx: the frame's call number. */
.Lenter_looking:
        .cfi_remember_state
        SAVE %rcx
        CALL_KEEPING_VECTORS vprof_enter_looking
        RESTORE %rax
        RESTORE %rcx
        RESTORE %rdx
        ret
        .cfi_endproc
        .size __vprof_enter_site, . - __vprof_enter_site

/* uint16_t *__vprof_enter(edi = called, rsi = frame): called is the site, with the low bits of the return address above
 * it, or zeros. __vprof_enter_called is the same with called in eax and the frame in r10. */
        .balign 64
        ENTRY __vprof_enter
        ENTRY __vprof_enter_called
__vprof_enter:
        .cfi_startproc
        movl %edi, %eax
        movq %rsi, %r10
__vprof_enter_called:
        ENTER_BELOW
        cmpl $VPROF_BY_RETURN_ADDRESS, %edx
        je .Lby_return_address
        andl $SITE_MASK, %eax
        shll $VPROF_SITE_BITS, %edx
        orl %edx, %eax
.Lby_return_address:
        shlq $32, %rax
        jmp .Lfill

/* eax: the site, or called. The slow function gets the caller's stack pointer, the one after return. */
.Lenter_slowly:
        leaq 24(%rsp), %rcx
        CALL_KEEPING_VECTORS vprof_enter_slowly, %rax, %r10
        RESTORE %rcx
        RESTORE %rdx
        ret
        .cfi_endproc
        .size __vprof_enter, . - __vprof_enter
        .size __vprof_enter_called, . - __vprof_enter_called

/* void __vprof_leave(rdi = frame); __vprof_leave_frame is the same with the frame in r10. */
        .balign 64
        ENTRY __vprof_leave
        ENTRY __vprof_leave_frame
__vprof_leave:
        .cfi_startproc
        movq %rdi, %r10
__vprof_leave_frame:
        SAVE %rax
        SAVE %rdx
        SAVE %rcx
        SAVE %rsi
        movq T_THREAD@gottpoff(%rip), %rcx
        xorl %eax, %eax
        movq %fs:VPROF_THREAD_TSC_SLOT(%rcx), %r11
        testq %r11, %r11
        jz .Lleave_slowly
        rdtsc
        shlq $32, %rdx
        orq %rdx, %rax                                  /* rax: now */
        cmpq %fs:VPROF_THREAD_LOOK_BY(%rcx), %rax       /* time for a look (off_cpu.h) */
        ja .Lleave_slowly
        movq vprof_switch_word(%rip), %rdx
        cmpq $0, %fs:(%rdx)                             /* switched off the CPU since the last look (off_cpu.h) */
        je .Lleave_slowly
        movq %fs:VPROF_THREAD_CALLS(%rcx), %rsi
        movl VPROF_SLOT_DEPTH(%r11), %edx
        decl %edx
        cmpl $VPROF_MAX_FRAMES, %edx
        jae .Lleave_slowly                              /* no open frame */
        leaq (%rsi, %rdx, 2), %rsi                      /* rsi: the frame's call number */
        shlq $VPROF_FRAME_SHIFT, %rdx                   /* slot + rdx: the frame, but for VPROF_SLOT_FRAMES */
        cmpq %r10, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11, %rdx)
        jne .Lleave_slowly
        movq %rax, %rcx
        subq VPROF_SLOT_FRAMES + VPROF_FRAME_START(%r11, %rdx), %rcx
        cmpq $0x7fffffff, %rcx                          /* long, or the clock went backwards */
        ja .Lleave_slowly
        cmpq $0, VPROF_SLOT_WRITING(%r11)
        jne .Lleave_slowly
        shlq $64 - VPROF_TIME_BITS, %rax
        shrq $64 - VPROF_TIME_BITS, %rax
        orq VPROF_SLOT_FRAMES + VPROF_FRAME_HEAD(%r11, %rdx), %rax      /* rax, rcx: the record */
        orq VPROF_SLOT_FRAMES + VPROF_FRAME_TAG(%r11, %rdx), %rcx
        movq %r10, VPROF_SLOT_WRITING(%r11)
        movw $0, (%rsi)
        movq $-1, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11, %rdx)   /* kNoFrame */
        shrl $VPROF_FRAME_SHIFT, %edx
        movl %edx, VPROF_SLOT_DEPTH(%r11)
        movq VPROF_SLOT_TAIL(%r11), %rdx
        cmpq VPROF_SLOT_LIMIT(%r11), %rdx
        jae .Lno_room
        movq vprof_ring_mask(%rip), %rsi
        andq %rdx, %rsi
        shlq $VPROF_RECORD_SHIFT, %rsi
        movq %rax, VPROF_SLOT_RECORDS(%r11, %rsi)
        movq %rcx, VPROF_SLOT_RECORDS + 8(%r11, %rsi)
        incq %rdx
        movq %rdx, VPROF_SLOT_TAIL(%r11)                /* publishes: stores are not reordered */
        movq $0, VPROF_SLOT_WRITING(%r11)
.Lleft:
        .cfi_remember_state
        RESTORE %rsi
        RESTORE %rcx
        RESTORE %rdx
        RESTORE %rax
        ret
        RESTORE_STATE 40

/* rax: now, or 0 if the clock was not read. */
.Lleave_slowly:
        CALL_KEEPING_VECTORS vprof_leave_slowly, %r10, %rax
        jmp .Lleft

/* r11: the slot; rax, rcx: the record; the frame is closed. */
.Lno_room:
        CALL_KEEPING_VECTORS vprof_finish_record, %r11, %rax
        jmp .Lleft
        .cfi_endproc
        .size __vprof_leave, . - __vprof_leave
        .size __vprof_leave_frame, . - __vprof_leave_frame

/* Calls r11(rdi, rsi, rcx) with an aligned stack. Vector and x87 registers, rbx, rbp and r12 to r15 are kept; rax is
 * its result. As in ld.so's trampolines: xsave of all but AMX tiles, which take 8 KiB and nothing here uses. */
#define VECTORS 0xe7
        .balign 16
        .type call_keeping_vectors, @function
call_keeping_vectors:
        .cfi_startproc
        SAVE %rbp
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq vprof_vector_bytes(%rip), %rax
        testq %rax, %rax
        jz .Lwithout_xsave
        subq %rax, %rsp
        andq $-64, %rsp
        xorl %eax, %eax
        .irp i, 0, 8, 16, 24, 32, 40, 48, 56            /* the header, that xsave reads */
        movq %rax, 512 + \i(%rsp)
        .endr
        movl $VECTORS, %eax
        xorl %edx, %edx
        xsave64 (%rsp)
        movq %rcx, %rdx
        call *%r11
        movq %rax, %r11
        movl $VECTORS, %eax
        xorl %edx, %edx
        xrstor64 (%rsp)
        movq %r11, %rax
.Lkept:
        movq %rbp, %rsp
        .cfi_remember_state
        .cfi_def_cfa_register %rsp
        RESTORE %rbp
        .cfi_restore %rbp
        ret
        .cfi_restore_state
.Lwithout_xsave:
        subq $512, %rsp
        andq $-16, %rsp
        fxsave64 (%rsp)
        movq %rcx, %rdx
        call *%r11
        fxrstor64 (%rsp)
        jmp .Lkept
        .cfi_endproc
        .size call_keeping_vectors, . - call_keeping_vectors

        .hidden vprof_enter_slowly, vprof_enter_looking, vprof_leave_slowly, vprof_finish_record, vprof_ring_mask, vprof_switch_word
        .hidden vprof_vector_bytes
        .section .note.GNU-stack, "", @progbits
