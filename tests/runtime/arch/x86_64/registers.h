/* A call with known values in the general and vector registers (the CPU has AVX), and what they are afterwards. For one
 * unit of a program. */
#ifndef VPROF_TEST_REGISTERS_H
#define VPROF_TEST_REGISTERS_H

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { R11, R10, RAX, RDI = 6, RSI = 14, REGISTERS };
static const char *const register_names[REGISTERS] = {"r11", "r10", "rax", "rbx", "rcx", "rdx", "rdi", "rbp",
                                                      "r8",  "r9",  "r12", "r13", "r14", "r15", "rsi"};

/* The first of the registers that a call keeps (PROBE_ABI.md "Calls"), and that of enter's result: by a probe, by C. */
struct convention {
  int kept_by_enter, kept_by_leave, result;
};
static const struct convention BY_PROBE = {RAX + 1, RAX, RAX}, BY_C = {RAX + 1, RAX, RAX};

enum { VECTORS = 16, VECTOR_BYTES = 32 };
unsigned char vector_registers[2][VECTORS][VECTOR_BYTES]; /* before and after the last call */

struct arguments {
  uint64_t probe_first, probe_second; /* rax, r10 */
  uint64_t c_first, c_second;         /* rdi, rsi */
};

/* Values that tell the registers apart, but for the arguments. */
static inline void fill_registers(uint64_t *values, struct arguments arguments) {
  for (unsigned i = 0; i < REGISTERS; ++i) values[i] = 0x1111111111111111u * (i + 1);
  values[RAX] = arguments.probe_first;
  values[R10] = arguments.probe_second;
  values[RDI] = arguments.c_first;
  values[RSI] = arguments.c_second;
  for (unsigned i = 0; i < VECTORS * VECTOR_BYTES; ++i) (&vector_registers[0][0][0])[i] = (unsigned char)(i * 7 + 1);
}

static inline int vectors_are_kept(void) {
  return memcmp(vector_registers[0], vector_registers[1], sizeof vector_registers[0]) == 0;
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
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "  vmovdqu vector_registers + 32 * \\i(%rip), %ymm\\i\n"
    "  .endr\n"
    "  movq 0(%rsi), %r11\n"
    "  movq 8(%rsi), %r10\n"
    "  movq 16(%rsi), %rax\n"
    "  movq 24(%rsi), %rbx\n"
    "  movq 32(%rsi), %rcx\n"
    "  movq 40(%rsi), %rdx\n"
    "  movq 48(%rsi), %rdi\n"
    "  movq 56(%rsi), %rbp\n"
    "  movq 64(%rsi), %r8\n"
    "  movq 72(%rsi), %r9\n"
    "  movq 80(%rsi), %r12\n"
    "  movq 88(%rsi), %r13\n"
    "  movq 96(%rsi), %r14\n"
    "  movq 104(%rsi), %r15\n"
    "  movq 112(%rsi), %rsi\n"
    "  call *call_with_registers_target(%rip)\n"
    "  xchgq %rsi, (%rsp)\n"
    "  movq %r11, 120(%rsi)\n"
    "  movq %r10, 128(%rsi)\n"
    "  movq %rax, 136(%rsi)\n"
    "  movq %rbx, 144(%rsi)\n"
    "  movq %rcx, 152(%rsi)\n"
    "  movq %rdx, 160(%rsi)\n"
    "  movq %rdi, 168(%rsi)\n"
    "  movq %rbp, 176(%rsi)\n"
    "  movq %r8, 184(%rsi)\n"
    "  movq %r9, 192(%rsi)\n"
    "  movq %r12, 200(%rsi)\n"
    "  movq %r13, 208(%rsi)\n"
    "  movq %r14, 216(%rsi)\n"
    "  movq %r15, 224(%rsi)\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "  vmovdqu %ymm\\i, vector_registers + 512 + 32 * \\i(%rip)\n"
    "  .endr\n"
    "  vzeroupper\n"
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

/* For a program: calls of the places in the begin object, as probes make them. */
#define CALLS_OF_PROBES                                                            \
  __asm__(                                                                         \
      "entered:\n  addq $-128, %rsp\n  call __vprof_at_entry\n  ret\n"             \
      "entered_from:\n  addq $-128, %rsp\n  call __vprof_at_entry_called\n  ret\n" \
      "left:\n  addq $-128, %rsp\n  call __vprof_at_exit\n  ret\n")

static inline char *thread_pointer(void) {
  char *self;
  __asm__("movq %%fs:0, %0" : "=r"(self));
  return self;
}

#ifdef __cplusplus
}
#endif

#endif
