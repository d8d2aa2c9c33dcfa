/* What begin objects call, in terms of two functions of the test's own runtime (PROBE_ABI.md "Calls"): the site comes
 * in eax, the frame in r10, the stack is not aligned, all other registers are kept, those of vectors by xsave. They can
 * be unwound through. */
#ifndef VPROF_TEST_ENTRIES_H
#define VPROF_TEST_ENTRIES_H

#include <stdint.h>

#define KEEPS_REGISTERS __attribute__((preserve_most))
void __vprof_register(unsigned char *start, unsigned char *stop);
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
