/* The hot path: what an instrumented function calls at entry and exit while its switch byte is not 0 (PROBE_ABI.md).
 *
 * The floor is two reads of the clock and one 16-byte record per call; nothing here allocates, locks, blocks or makes a
 * system call. The clock is read last in enter and first in leave, so the rest is not in the function's time.
 *
 * In assembly because of the registers: all but rax and r11 are preserved (leave: but r11), so that a probed function
 * saves nothing around the call, and only those that are used are saved here: two in enter, four in leave. A compiler
 * saves some eight at the border between that convention and its own.
 *
 * These are enter_quickly() and leave_quickly() of shadow_stack.h, whose rules for signal handlers fix the order of the
 * stores (that the CPU keeps). The outermost frame is usual as well; all else goes to the slow functions of probe.cpp. */
#include "entry_offsets.h"

#define T_THREAD _ZN5vprof8t_threadE
        .hidden T_THREAD

        .macro SAVE register
        pushq \register
        .cfi_adjust_cfa_offset 8
        .endm
        .macro RESTORE register
        popq \register
        .cfi_adjust_cfa_offset -8
        .endm
        .macro ENTRY name
        .globl \name
        .type \name, @function
        .endm

        .text
        .balign 64
        ENTRY __vprof_enter
        ENTRY __vprof_enter_site

/* uint16_t *__vprof_enter(edi = site, rsi = frame): rax is the place of the frame's call number.
 * __vprof_enter_site is the same with the site in eax and not in edi. */
__vprof_enter:
        .cfi_startproc
        movl %edi, %eax
__vprof_enter_site:
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
        je .Lenter_slowly
        leaq (%rcx, %rdx, 2), %rcx                      /* rcx: the new frame's call number */
        shlq $VPROF_FRAME_SHIFT, %rdx                   /* slot + rdx: its frame, but for VPROF_SLOT_FRAMES */
        cmpq %rsi, VPROF_SLOT_FRAMES - (1 << VPROF_FRAME_SHIFT) + VPROF_FRAME_ADDRESS(%r11, %rdx)
        jbe .Lenter_slowly                              /* a dead frame */
        shlq $32, %rax                                  /* rax: the tag without its number */
        incl VPROF_SLOT_DEPTH(%r11)
        addq %rdx, %r11                                 /* r11: the frame, but for VPROF_SLOT_FRAMES */
        movzwl -2(%rcx), %edx
        shlq $32 + VPROF_SITE_BITS, %rdx                /* the low bits of the caller's number */
        orq %rdx, %rax
.Lfill:
        movq %rax, VPROF_SLOT_FRAMES + VPROF_FRAME_TAG(%r11)
        rdtsc
        shlq $32, %rdx
        orq %rdx, %rax
        movq %rax, VPROF_SLOT_FRAMES + VPROF_FRAME_START(%r11)
        movq %rsi, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11)
        movq vprof_switch_word(%rip), %rdx
        cmpq $0, %fs:(%rdx)
        je .Lenter_switched
        movq %rcx, %rax
        .cfi_remember_state
        RESTORE %rcx
        RESTORE %rdx
        ret
        .cfi_restore_state

.Loutermost:
        shlq $32, %rax
        movl $1, VPROF_SLOT_DEPTH(%r11)
        jmp .Lfill

/* rcx: the frame's call number. */
.Lenter_switched:
        .cfi_remember_state
        SAVE %rcx
        SAVE %rsi
        SAVE %rdi
        SAVE %r8
        SAVE %r9
        SAVE %r10
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        call vprof_enter_switched
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        RESTORE %r10
        RESTORE %r9
        RESTORE %r8
        RESTORE %rdi
        RESTORE %rsi
        RESTORE %rax
        RESTORE %rcx
        RESTORE %rdx
        ret
        .cfi_restore_state

/* eax: the site. The slow function gets the caller's stack pointer, the one after return. */
.Lenter_slowly:
        SAVE %rsi
        SAVE %rdi
        SAVE %r8
        SAVE %r9
        SAVE %r10
        movl %eax, %edi
        leaq 64(%rsp), %rdx
        call vprof_enter_slowly
        RESTORE %r10
        RESTORE %r9
        RESTORE %r8
        RESTORE %rdi
        RESTORE %rsi
        RESTORE %rcx
        RESTORE %rdx
        ret
        .cfi_endproc
        .size __vprof_enter, . - __vprof_enter
        .size __vprof_enter_site, . - __vprof_enter_site

/* void __vprof_leave(rdi = frame) */
        .balign 64
        ENTRY __vprof_leave
__vprof_leave:
        .cfi_startproc
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
        cmpq %rdi, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11, %rdx)
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
        movq %rdi, VPROF_SLOT_WRITING(%r11)
        movw $0, (%rsi)
        movq $-1, VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS(%r11, %rdx)   /* kNoFrame */
        shrl $VPROF_FRAME_SHIFT, %edx
        movl %edx, VPROF_SLOT_DEPTH(%r11)
        movq VPROF_SLOT_TAIL(%r11), %rdx
        cmpq VPROF_SLOT_LIMIT(%r11), %rdx
        jae .Lno_room
        movq VPROF_SLOT_CAPACITY(%r11), %rsi
        decq %rsi
        andq %rdx, %rsi
        shlq $VPROF_RECORD_SHIFT, %rsi
        addq VPROF_SLOT_RING_OFFSET(%r11), %rsi
        movq %rax, VPROF_SLOT_RING(%r11, %rsi)
        movq %rcx, VPROF_SLOT_RING + 8(%r11, %rsi)
        incq %rdx
        movq %rdx, VPROF_SLOT_TAIL(%r11)                /* publishes: stores are not reordered */
        movq $0, VPROF_SLOT_WRITING(%r11)
        .cfi_remember_state
        RESTORE %rsi
        RESTORE %rcx
        RESTORE %rdx
        RESTORE %rax
        ret
        .cfi_restore_state

        .macro CALL_SLOW function
        SAVE %rdi
        SAVE %r8
        SAVE %r9
        SAVE %r10
        subq $8, %rsp
        .cfi_adjust_cfa_offset 8
        \function
        addq $8, %rsp
        .cfi_adjust_cfa_offset -8
        RESTORE %r10
        RESTORE %r9
        RESTORE %r8
        RESTORE %rdi
        RESTORE %rsi
        RESTORE %rcx
        RESTORE %rdx
        RESTORE %rax
        ret
        .endm

/* rax: now, or 0 if the clock was not read. */
.Lleave_slowly:
        .cfi_remember_state
        CALL_SLOW "movq %rax, %rsi; call vprof_leave_slowly"
        .cfi_restore_state

/* r11: the slot; rax, rcx: the record; the frame is closed. */
.Lno_room:
        CALL_SLOW "movq %r11, %rdi; movq %rax, %rsi; movq %rcx, %rdx; call vprof_finish_record"
        .cfi_endproc
        .size __vprof_leave, . - __vprof_leave

        .hidden vprof_enter_slowly, vprof_enter_switched, vprof_leave_slowly, vprof_finish_record, vprof_switch_word
        .section .note.GNU-stack, "", @progbits
