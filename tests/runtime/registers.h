/* A call with known values in the general registers, and what they are afterwards. For one unit of a program. */
#ifndef VPROF_TEST_REGISTERS_H
#define VPROF_TEST_REGISTERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { R11, RAX, RDI = 5, RSI = 14, REGISTERS };
static const char *const register_names[REGISTERS] = {"r11", "rax", "rbx", "rcx", "rdx", "rdi", "rbp", "r8",
                                                      "r9",  "r10", "r12", "r13", "r14", "r15", "rsi"};

/* The first of the registers that a probe's call keeps, without and with a result (PROBE_ABI.md "Calls"). */
enum { KEPT = RAX, KEPT_BUT_RESULT = RAX + 1 };

/* Values that tell the registers apart, but for three. */
static inline void fill_registers(uint64_t *values, uint64_t rax, uint64_t rdi, uint64_t rsi) {
  for (unsigned i = 0; i < REGISTERS; ++i) values[i] = 0x1111111111111111u * (i + 1);
  values[RAX] = rax;
  values[RDI] = rdi;
  values[RSI] = rsi;
}

/* Calls `function` with values[0] in the registers and puts what is in them then into values[1]. */
void call_with_registers(void (*function)(void), uint64_t (*values)[REGISTERS]);
__asm__(
    ".text\n"
    ".globl call_with_registers\n"
    "call_with_registers:\n"
    "  pushq %rbx\n"
    "  pushq %rbp\n"
    "  pushq %r12\n"
    "  pushq %r13\n"
    "  pushq %r14\n"
    "  pushq %r15\n"
    "  pushq %rsi\n"
    "  movq %rdi, call_with_registers_target(%rip)\n"
    "  movq 0(%rsi), %r11\n"
    "  movq 8(%rsi), %rax\n"
    "  movq 16(%rsi), %rbx\n"
    "  movq 24(%rsi), %rcx\n"
    "  movq 32(%rsi), %rdx\n"
    "  movq 40(%rsi), %rdi\n"
    "  movq 48(%rsi), %rbp\n"
    "  movq 56(%rsi), %r8\n"
    "  movq 64(%rsi), %r9\n"
    "  movq 72(%rsi), %r10\n"
    "  movq 80(%rsi), %r12\n"
    "  movq 88(%rsi), %r13\n"
    "  movq 96(%rsi), %r14\n"
    "  movq 104(%rsi), %r15\n"
    "  movq 112(%rsi), %rsi\n"
    "  call *call_with_registers_target(%rip)\n"
    "  xchgq %rsi, (%rsp)\n"
    "  movq %r11, 120(%rsi)\n"
    "  movq %rax, 128(%rsi)\n"
    "  movq %rbx, 136(%rsi)\n"
    "  movq %rcx, 144(%rsi)\n"
    "  movq %rdx, 152(%rsi)\n"
    "  movq %rdi, 160(%rsi)\n"
    "  movq %rbp, 168(%rsi)\n"
    "  movq %r8, 176(%rsi)\n"
    "  movq %r9, 184(%rsi)\n"
    "  movq %r10, 192(%rsi)\n"
    "  movq %r12, 200(%rsi)\n"
    "  movq %r13, 208(%rsi)\n"
    "  movq %r14, 216(%rsi)\n"
    "  movq %r15, 224(%rsi)\n"
    "  popq %rax\n"
    "  movq %rax, 232(%rsi)\n"
    "  popq %r15\n"
    "  popq %r14\n"
    "  popq %r13\n"
    "  popq %r12\n"
    "  popq %rbp\n"
    "  popq %rbx\n"
    "  ret\n"
    ".local call_with_registers_target\n"
    ".comm call_with_registers_target, 8, 8\n");

#ifdef __cplusplus
}
#endif

#endif
