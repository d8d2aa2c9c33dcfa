/* What begin objects call, in terms of two functions of the test's own runtime (PROBE_ABI.md "Calls"): the site comes
 * in eax, the frame in r10, the stack is not aligned, all other registers are kept, those of vectors by xsave. They can
 * be unwound through. On aarch64 the site comes in w9, the frame in x10, and x9 to x17 need not be kept. */
#ifndef VPROF_TEST_ENTRIES_H
#define VPROF_TEST_ENTRIES_H

#include <stdint.h>

void __vprof_register(unsigned char *start, unsigned char *stop);

#ifdef __aarch64__
/* Also the caller's stack pointer: in its frame an expanded function's variable may lie above the caller's own. What
 * lies far below is another thread's. */
#define CALLER_STACK_POINTER , void *stack_pointer
#define IS_NEAR(open) ((uintptr_t)stack_pointer - (uintptr_t)(open) < 1 << 20)
#define IS_DEAD(open, frame) (((open) < stack_pointer && IS_NEAR(open)) || (open) == (frame))
unsigned short *__vprof_enter(uint32_t site, void *frame CALLER_STACK_POINTER);
void __vprof_leave(void *frame);

#define VECTOR_PAIRS(each)                                                                                   \
  each(0, 1) each(2, 3) each(4, 5) each(6, 7) each(8, 9) each(10, 11) each(12, 13) each(14, 15) each(16, 17) \
      each(18, 19) each(20, 21) each(22, 23) each(24, 25) each(26, 27) each(28, 29) each(30, 31)
#define PUSH(a, b) "  stp q" #a ", q" #b ", [sp, #-32]!\n"
#define LOAD(a, b) "  ldp q" #a ", q" #b ", [sp, #(16 * (30 - " #a "))]\n"
#define ENTRY(name, arguments, function, result) \
  __asm__(".globl " name "\n.type " name ", %function\n" name                                                \
          ":\n"                                                                                              \
          ".cfi_startproc\n"                                                                                 \
          "  stp x29, x30, [sp, #-96]!\n"                                                                    \
          ".cfi_def_cfa_offset 96\n.cfi_offset x29, -96\n.cfi_offset x30, -88\n"                             \
          "  mov x29, sp\n"                                                                                  \
          ".cfi_def_cfa_register x29\n"                                                                      \
          "  stp x0, x1, [sp, #16]\n  stp x2, x3, [sp, #32]\n  stp x4, x5, [sp, #48]\n"                       \
          "  stp x6, x7, [sp, #64]\n  stp x8, x18, [sp, #80]\n" VECTOR_PAIRS(PUSH) arguments "  bl " function \
          "\n" result VECTOR_PAIRS(LOAD) "  mov sp, x29\n"                                                   \
          "  ldp x0, x1, [sp, #16]\n  ldp x2, x3, [sp, #32]\n  ldp x4, x5, [sp, #48]\n"                       \
          "  ldp x6, x7, [sp, #64]\n  ldp x8, x18, [sp, #80]\n  ldp x29, x30, [sp], #96\n"                    \
          ".cfi_def_cfa sp, 0\n"                                                                             \
          "  ret\n"                                                                                          \
          ".cfi_endproc\n")
ENTRY("__vprof_enter_site", "  mov w0, w9\n  mov x1, x10\n  add x2, x29, #96\n", "__vprof_enter", "  mov x9, x0\n");
ENTRY("__vprof_leave_frame", "  mov x0, x10\n", "__vprof_leave", "");
#else
#define CALLER_STACK_POINTER
#define IS_DEAD(open, frame) ((open) <= (frame))
#define KEEPS_REGISTERS __attribute__((preserve_most))
KEEPS_REGISTERS unsigned short *__vprof_enter(uint32_t site, void *frame);
KEEPS_REGISTERS void __vprof_leave(void *frame);

#define ENTRY(name, arguments, function, result)               \
  __asm__(".globl " name "\n.type " name ", @function\n" name  \
          ":\n"                                                \
          ".cfi_startproc\n"                                   \
          "  pushq %rbp\n"                                     \
          ".cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"    \
          "  movq %rsp, %rbp\n"                                \
          ".cfi_def_cfa_register %rbp\n"                       \
          "  pushq %rax\n  pushq %rdx\n"                       \
          "  pushq %rdi\n  pushq %rsi\n" arguments             \
          "  subq $4096, %rsp\n  andq $-64, %rsp\n"            \
          "  xorl %eax, %eax\n"                                \
          "  .irp i, 512, 520, 528, 536, 544, 552, 560, 568\n" \
          "  movq %rax, \\i(%rsp)\n"                           \
          "  .endr\n"                                          \
          "  movl $0xe7, %eax\n  xorl %edx, %edx\n"            \
          "  xsave64 (%rsp)\n"                                 \
          "  call " function "\n" result                       \
          "  movl $0xe7, %eax\n  xorl %edx, %edx\n"            \
          "  xrstor64 (%rsp)\n"                                \
          "  leaq -32(%rbp), %rsp\n"                           \
          "  popq %rsi\n  popq %rdi\n"                         \
          "  popq %rdx\n  popq %rax\n  popq %rbp\n"            \
          ".cfi_def_cfa %rsp, 8\n"                             \
          "  ret\n"                                            \
          ".cfi_endproc\n")
ENTRY("__vprof_enter_site", "  movl %eax, %edi\n  movq %r10, %rsi\n", "__vprof_enter", "  movq %rax, -8(%rbp)\n");
ENTRY("__vprof_leave_frame", "  movq %r10, %rdi\n", "__vprof_leave", "");
#endif

#endif
