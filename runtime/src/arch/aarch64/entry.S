/* The hot path: what an instrumented function calls at entry and exit while its switch byte is not 0 (PROBE_ABI.md).
 *
 * The floor is two reads of the clock and one 16-byte record per call; nothing here allocates, locks, blocks or makes a
 * system call. The clock is read last in enter and first in leave, so the rest is not in the function's time.
 *
 * In assembly because of the registers: those of a probed function are kept but for x9 to x17, the return address, the
 * flags and what enter returns. A function's arguments and results are in others, so its compiler has nothing to save.
 * The vector registers, and what C may change besides, are saved where the slow functions are called, which are
 * compiled.
 *
 * Slots are shared memory, which others may overwrite: the depth is compared before it is an index, the ring's mask is
 * the process's own, its place a constant (arena.h).
 *
 * These are enter_quickly() and leave_quickly() of shadow_stack.h, whose rules for signal handlers fix the order of the
 * stores. For a handler on this CPU that is the order here. For the collector, on another, what it takes for a sign that
 * the rest is there is stored with release (stlr): a frame's address, the ring's tail. The outermost frame is usual as
 * well; all else goes to the slow functions of probe.cpp. */
#include "../../entry_offsets.h"

#define T_THREAD _ZN5vprof8t_threadE
        .hidden T_THREAD

        .macro ENTRY name
        .globl \name
        .type \name, %function
        .endm
        .macro SAVE_RETURN first
        stp \first, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -8
        .endm
        .macro RESTORE_RETURN first
        ldp \first, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x30
        .endm
/* The thread pointer, and the address of t_thread. */
        .macro FIND_THREAD pointer, thread
        mrs \pointer, tpidr_el0
        adrp \thread, :gottprel:T_THREAD
        ldr \thread, [\thread, :gottprel_lo12:T_THREAD]
        add \thread, \pointer, \thread
        .endm
/* read_cycles() of cycle_counter.h. */
        .macro READ_CLOCK now, scratch
        mrs \now, cntvct_el0
        mrs x\scratch, cntfrq_el0
        clz w\scratch, w\scratch
        sub w\scratch, w\scratch, #1
        lsl \now, \now, x\scratch
        .endm
        .macro LOAD register, symbol
        adrp \register, \symbol
        ldr \register, [\register, :lo12:\symbol]
        .endm
/* Calls function(x9, x10, x11), which is compiled; x9 is its result. Changes no other registers than x9 to x17, x30. */
        .macro CALL_KEEPING_REGISTERS function
        adrp x16, \function
        add x16, x16, :lo12:\function
        bl call_keeping_registers
        .endm
        .macro PAIR_AT instruction, i, next
        \instruction q\i, q\next, [sp, #(16 * \i)]
        .endm
        .macro ALL_PAIRS instruction
        PAIR_AT \instruction, 0, 1
        PAIR_AT \instruction, 2, 3
        PAIR_AT \instruction, 4, 5
        PAIR_AT \instruction, 6, 7
        PAIR_AT \instruction, 8, 9
        PAIR_AT \instruction, 10, 11
        PAIR_AT \instruction, 12, 13
        PAIR_AT \instruction, 14, 15
        PAIR_AT \instruction, 16, 17
        PAIR_AT \instruction, 18, 19
        PAIR_AT \instruction, 20, 21
        PAIR_AT \instruction, 22, 23
        PAIR_AT \instruction, 24, 25
        PAIR_AT \instruction, 26, 27
        PAIR_AT \instruction, 28, 29
        PAIR_AT \instruction, 30, 31
        .endm
        .macro ALL_VECTORS instruction
        .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
        \instruction z\i, [sp, #\i, mul vl]
        .endr
        .endm
        .macro ALL_PREDICATES instruction
        .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
        \instruction p\i, [x13, #\i, mul vl]
        .endr
        .endm

        .text
/* uint16_t *__vprof_enter(w0 = site, x1 = frame): x0 is the place of the frame's call number. */
        .balign 64
        ENTRY __vprof_enter
__vprof_enter:
        .cfi_startproc
        hint #34                                        /* bti c */
        mov w9, w0
        mov x10, x1
        SAVE_RETURN x29
        .cfi_offset x29, -16
        bl .Lenter
.Lentered:
        mov x0, x9
        RESTORE_RETURN x29
        .cfi_restore x29
        ret
        .cfi_endproc
        .size __vprof_enter, . - __vprof_enter

/* The same with the site in w9 and the frame in x10; the place in x9. */
        .balign 64
        ENTRY __vprof_enter_site
__vprof_enter_site:
        .cfi_startproc
        hint #34                                        /* bti c */
.Lenter:
        FIND_THREAD x14, x11
        ldp x12, x13, [x11, #VPROF_THREAD_TSC_SLOT]     /* and VPROF_THREAD_CALLS */
        cbz x12, .Lenter_slowly
        ldr w14, [x12, #VPROF_SLOT_DEPTH]
        cbz w14, .Loutermost
        cmp w14, #VPROF_MAX_FRAMES
        b.hs .Lenter_slowly                             /* full; or overwritten */
        add x15, x12, x14, lsl #VPROF_FRAME_SHIFT       /* the frame, but for VPROF_SLOT_FRAMES */
        ldr x16, [x15, #(VPROF_SLOT_FRAMES - (1 << VPROF_FRAME_SHIFT) + VPROF_FRAME_ADDRESS)]
        cmp x16, x10
        b.ls .Lenter_slowly                             /* a dead frame */
        add x13, x13, x14, lsl #1                       /* x13: the new frame's call number */
        add w14, w14, #1
        str w14, [x12, #VPROF_SLOT_DEPTH]
        ldrh w16, [x13, #-2]
        lsl x9, x9, #32                                 /* the tag: site, and the low bits of the caller's number */
        orr x9, x9, x16, lsl #(32 + VPROF_SITE_BITS)
.Lfill:
        str x9, [x15, #(VPROF_SLOT_FRAMES + VPROF_FRAME_TAG)]
        READ_CLOCK x16, 17
        str x16, [x15, #(VPROF_SLOT_FRAMES + VPROF_FRAME_START)]
        add x15, x15, #(VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS)
        stlr x10, [x15]
        LOAD x17, vprof_switch_word
        mrs x14, tpidr_el0
        ldr x17, [x14, x17]
        cbz x17, .Lenter_looking
        ldr x17, [x11, #VPROF_THREAD_LOOK_BY]
        cmp x16, x17
        b.hi .Lenter_looking
        mov x9, x13
        ret

.Loutermost:
        lsl x9, x9, #32
        mov w14, #1
        str w14, [x12, #VPROF_SLOT_DEPTH]
        mov x15, x12
        b .Lfill

/* x13: the frame's call number. */
.Lenter_looking:
        .cfi_remember_state
        SAVE_RETURN x13
        CALL_KEEPING_REGISTERS vprof_enter_looking
        RESTORE_RETURN x9
        ret
        .cfi_restore_state

/* w9: the site. The slow function gets the caller's stack pointer, above what __vprof_enter keeps. */
.Lenter_slowly:
        adr x17, .Lentered
        add x11, sp, #16
        cmp x30, x17
        b.eq 1f
        mov x11, sp
1:      SAVE_RETURN xzr
        CALL_KEEPING_REGISTERS vprof_enter_slowly
        RESTORE_RETURN x17
        ret
        .cfi_endproc
        .size __vprof_enter_site, . - __vprof_enter_site

/* void __vprof_leave(x0 = frame); __vprof_leave_frame is the same with the frame in x10. */
        .balign 64
        ENTRY __vprof_leave
        ENTRY __vprof_leave_frame
__vprof_leave:
        .cfi_startproc
        hint #34                                        /* bti c */
        mov x10, x0
__vprof_leave_frame:
        hint #34
        FIND_THREAD x11, x12
        mov x9, #0
        ldr x13, [x12, #VPROF_THREAD_TSC_SLOT]
        cbz x13, .Lleave_slowly
        READ_CLOCK x9, 14                               /* x9: now */
        ldr x14, [x12, #VPROF_THREAD_LOOK_BY]           /* time for a look (off_cpu.h) */
        cmp x9, x14
        b.hi .Lleave_slowly
        LOAD x14, vprof_switch_word
        ldr x14, [x11, x14]                             /* switched off the CPU since the last look (off_cpu.h) */
        cbz x14, .Lleave_slowly
        ldr w15, [x13, #VPROF_SLOT_DEPTH]
        sub w15, w15, #1
        cmp w15, #VPROF_MAX_FRAMES
        b.hs .Lleave_slowly                             /* no open frame */
        add x16, x13, x15, lsl #VPROF_FRAME_SHIFT       /* the frame, but for VPROF_SLOT_FRAMES */
        ldr x17, [x16, #(VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS)]
        cmp x17, x10
        b.ne .Lleave_slowly
        ldr x17, [x16, #(VPROF_SLOT_FRAMES + VPROF_FRAME_START)]
        sub x17, x9, x17
        lsr x11, x17, #31                               /* long, or the clock went backwards */
        cbnz x11, .Lleave_slowly
        ldr x11, [x13, #VPROF_SLOT_WRITING]
        cbnz x11, .Lleave_slowly
        ldr x14, [x12, #VPROF_THREAD_CALLS]
        ldr x11, [x16, #(VPROF_SLOT_FRAMES + VPROF_FRAME_TAG)]
        ldr x12, [x16, #(VPROF_SLOT_FRAMES + VPROF_FRAME_HEAD)]
        orr x11, x11, x17                               /* x12, x11: the record */
        ubfx x17, x9, #0, #VPROF_TIME_BITS
        orr x12, x12, x17
        str x10, [x13, #VPROF_SLOT_WRITING]
        strh wzr, [x14, x15, lsl #1]                    /* the frame's call number */
        mov x17, #-1                                    /* kNoFrame */
        str x17, [x16, #(VPROF_SLOT_FRAMES + VPROF_FRAME_ADDRESS)]
        str w15, [x13, #VPROF_SLOT_DEPTH]
        ldr x14, [x13, #VPROF_SLOT_TAIL]
        ldr x15, [x13, #VPROF_SLOT_LIMIT]
        cmp x14, x15
        b.hs .Lno_room
        LOAD x15, vprof_ring_mask
        and x15, x15, x14
        add x15, x13, x15, lsl #VPROF_RECORD_SHIFT
        add x15, x15, #(VPROF_SLOT_RECORDS & 0xfff000)
        add x15, x15, #(VPROF_SLOT_RECORDS & 0xfff)
        stp x12, x11, [x15]
        add x14, x14, #1
        add x15, x13, #VPROF_SLOT_TAIL
        stlr x14, [x15]                                 /* publishes */
        str xzr, [x13, #VPROF_SLOT_WRITING]
        ret

/* x9: now, or 0 if the clock was not read. */
.Lleave_slowly:
        .cfi_remember_state
        SAVE_RETURN xzr
        mov x11, x9
        mov x9, x10
        mov x10, x11
        CALL_KEEPING_REGISTERS vprof_leave_slowly
        RESTORE_RETURN x17
        ret
        .cfi_restore_state

/* x13: the slot; x12, x11: the record; the frame is closed. */
.Lno_room:
        SAVE_RETURN xzr
        mov x9, x13
        mov x10, x12
        CALL_KEEPING_REGISTERS vprof_finish_record
        RESTORE_RETURN x17
        ret
        .cfi_endproc
        .size __vprof_leave, . - __vprof_leave
        .size __vprof_leave_frame, . - __vprof_leave_frame

/* Calls x16(x9, x10, x11); x9 is its result. Keeps all registers but x9 to x17: what C may change, the whole vectors, of
 * SVE where there is (with predicates and first-fault register), and the floating-point status. */
        .balign 16
        .type call_keeping_registers, %function
call_keeping_registers:
        .cfi_startproc
        stp x29, x30, [sp, #-112]!
        .cfi_def_cfa_offset 112
        .cfi_offset x29, -112
        .cfi_offset x30, -104
        mov x29, sp
        .cfi_def_cfa_register x29
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        stp x8, x18, [sp, #80]
        mrs x12, fpsr
        str x12, [sp, #96]
        LOAD x12, vprof_vector_bytes
        cbnz x12, .Lwith_sve
        sub sp, sp, #512
        ALL_PAIRS stp
        mov x0, x9
        mov x1, x10
        mov x2, x11
        blr x16
        mov x9, x0
        ALL_PAIRS ldp
.Lkept:
        mov sp, x29
        ldr x12, [sp, #96]
        msr fpsr, x12
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldp x8, x18, [sp, #80]
        .cfi_remember_state
        .cfi_def_cfa_register sp
        ldp x29, x30, [sp], #112
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_restore_state

/* Of the stack: 32 vectors, and 17 predicates of an eighth each. */
        .arch_extension sve
.Lwith_sve:
        addvl sp, sp, #-32
        addvl sp, sp, #-3
        ALL_VECTORS str
        addvl x13, sp, #16
        addvl x13, x13, #16
        ALL_PREDICATES str
        rdffr p0.b
        str p0, [x13, #16, mul vl]
        mov x0, x9
        mov x1, x10
        mov x2, x11
        blr x16
        mov x9, x0
        addvl x13, sp, #16
        addvl x13, x13, #16
        ldr p0, [x13, #16, mul vl]
        wrffr p0.b
        ALL_PREDICATES ldr
        ALL_VECTORS ldr
        b .Lkept
        .arch_extension nosve
        .cfi_endproc
        .size call_keeping_registers, . - call_keeping_registers

        .hidden vprof_enter_slowly, vprof_enter_looking, vprof_leave_slowly, vprof_finish_record, vprof_ring_mask
        .hidden vprof_switch_word, vprof_vector_bytes
        .section .note.GNU-stack, "", %progbits
