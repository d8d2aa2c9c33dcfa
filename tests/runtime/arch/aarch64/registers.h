/* A call with known values in the general and vector registers (those of SVE where there are), and what they are
 * afterwards. For one unit of a program. */
#ifndef VPROF_TEST_REGISTERS_H
#define VPROF_TEST_REGISTERS_H

#include <asm/hwcap.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of the values; the first nine are those that a probe's call may change. x16 and x17 get no value. */
enum { X9, X10, X0 = 9, X1, X18 = 18, REGISTERS = 30 };
static const char *const register_names[REGISTERS] = {
    "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x0",  "x1",  "x2",  "x3",  "x4",  "x5",
    "x6", "x7",  "x8",  "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29"};

/* The first of the registers that a call keeps (PROBE_ABI.md "Calls"), and that of enter's result: by a probe, by C. */
struct convention {
  int kept_by_enter, kept_by_leave, result;
};
static const struct convention BY_PROBE = {X0, X0, X9}, BY_C = {X0 + 1, X0, X0};

/* Before and after the last call: what is longer than the CPU's vectors stays. */
enum { VECTORS = 32, MOST_VECTOR_BYTES = 256, PREDICATES = 16 };
unsigned char vector_registers[2][VECTORS][MOST_VECTOR_BYTES];
unsigned char predicates[2][PREDICATES][MOST_VECTOR_BYTES / 8];
int vector_bytes; /* of SVE; 0: there is none */

struct arguments {
  uint64_t probe_first, probe_second; /* x9, x10 */
  uint64_t c_first, c_second;         /* x0, x1 */
};

/* Values that tell the registers apart, but for the arguments. */
static inline void fill_registers(uint64_t *values, struct arguments arguments) {
  for (unsigned i = 0; i < REGISTERS; ++i) values[i] = 0x0101010101010101u * (i + 1);
  values[X9] = arguments.probe_first;
  values[X10] = arguments.probe_second;
  values[X0] = arguments.c_first;
  values[X1] = arguments.c_second;
  for (unsigned i = 0; i < sizeof vector_registers / 2; ++i)
    (&vector_registers[0][0][0])[i] = (unsigned char)(i * 7 + 1);
  for (unsigned i = 0; i < sizeof predicates / 2; ++i) (&predicates[0][0][0])[i] = (unsigned char)(i * 5 + 3);
  memcpy(vector_registers[1], vector_registers[0], sizeof vector_registers / 2);
  memcpy(predicates[1], predicates[0], sizeof predicates / 2);
  vector_bytes = (getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? prctl(PR_SVE_GET_VL) & PR_SVE_VL_LEN_MASK : 0;
}

static inline int vectors_are_kept(void) {
  return memcmp(vector_registers[0], vector_registers[1], sizeof vector_registers / 2) == 0 &&
         memcmp(predicates[0], predicates[1], sizeof predicates / 2) == 0;
}

/* Calls `function` with values[0] in the registers and puts what is in them then into values[1]. */
void call_with_registers(void (*function)(void), uint64_t (*values)[REGISTERS]);
__asm__(
    ".text\n"
    ".globl call_with_registers\n"
    "call_with_registers:\n"
    "  stp x29, x30, [sp, #-192]!\n"
    "  stp x19, x20, [sp, #16]\n"
    "  stp x21, x22, [sp, #32]\n"
    "  stp x23, x24, [sp, #48]\n"
    "  stp x25, x26, [sp, #64]\n"
    "  stp x27, x28, [sp, #80]\n"
    "  stp x1, x18, [sp, #96]\n"
    "  stp d8, d9, [sp, #112]\n"
    "  stp d10, d11, [sp, #128]\n"
    "  stp d12, d13, [sp, #144]\n"
    "  stp d14, d15, [sp, #160]\n"
    "  str x0, [sp, #176]\n"
    "  adrp x2, vector_registers\n"
    "  add x2, x2, :lo12:vector_registers\n"
    "  adrp x3, vector_bytes\n"
    "  ldr w3, [x3, :lo12:vector_bytes]\n"
    "  cmp w3, #0\n"
    "  b.ne 1f\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
    "28, 29, 30, 31\n"
    "  ldr q\\i, [x2, #(256 * \\i)]\n"
    "  .endr\n"
    "  b 2f\n"
    "1:  .arch_extension sve\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
    "28, 29, 30, 31\n"
    "  ldr z\\i, [x2]\n"
    "  add x2, x2, #256\n"
    "  .endr\n"
    "  adrp x2, predicates\n"
    "  add x2, x2, :lo12:predicates\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "  ldr p\\i, [x2]\n"
    "  add x2, x2, #32\n"
    "  .endr\n"
    "2:  mov x17, x1\n"
    "  ldp x9, x10, [x17, #0]\n"
    "  ldp x11, x12, [x17, #16]\n"
    "  ldp x13, x14, [x17, #32]\n"
    "  ldr x15, [x17, #48]\n"
    "  ldp x0, x1, [x17, #72]\n"
    "  ldp x2, x3, [x17, #88]\n"
    "  ldp x4, x5, [x17, #104]\n"
    "  ldp x6, x7, [x17, #120]\n"
    "  ldp x8, x18, [x17, #136]\n"
    "  ldp x19, x20, [x17, #152]\n"
    "  ldp x21, x22, [x17, #168]\n"
    "  ldp x23, x24, [x17, #184]\n"
    "  ldp x25, x26, [x17, #200]\n"
    "  ldp x27, x28, [x17, #216]\n"
    "  ldr x29, [x17, #232]\n"
    "  ldr x17, [sp, #176]\n"
    "  blr x17\n"
    "  ldr x17, [sp, #96]\n"
    "  add x17, x17, #(8 * 30)\n"
    "  stp x9, x10, [x17, #0]\n"
    "  stp x11, x12, [x17, #16]\n"
    "  stp x13, x14, [x17, #32]\n"
    "  stp x15, x16, [x17, #48]\n"
    "  stp x0, x1, [x17, #72]\n"
    "  stp x2, x3, [x17, #88]\n"
    "  stp x4, x5, [x17, #104]\n"
    "  stp x6, x7, [x17, #120]\n"
    "  stp x8, x18, [x17, #136]\n"
    "  stp x19, x20, [x17, #152]\n"
    "  stp x21, x22, [x17, #168]\n"
    "  stp x23, x24, [x17, #184]\n"
    "  stp x25, x26, [x17, #200]\n"
    "  stp x27, x28, [x17, #216]\n"
    "  str x29, [x17, #232]\n"
    "  adrp x17, vector_registers + 8192\n"
    "  add x17, x17, :lo12:vector_registers + 8192\n"
    "  adrp x16, vector_bytes\n"
    "  ldr w16, [x16, :lo12:vector_bytes]\n"
    "  cbnz w16, 3f\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
    "28, 29, 30, 31\n"
    "  str q\\i, [x17, #(256 * \\i)]\n"
    "  .endr\n"
    "  b 4f\n"
    "3:\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, "
    "28, 29, 30, 31\n"
    "  str z\\i, [x17]\n"
    "  add x17, x17, #256\n"
    "  .endr\n"
    "  adrp x17, predicates + 512\n"
    "  add x17, x17, :lo12:predicates + 512\n"
    "  .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "  str p\\i, [x17]\n"
    "  add x17, x17, #32\n"
    "  .endr\n"
    "  .arch_extension nosve\n"
    "4:\n"
    "  ldp d8, d9, [sp, #112]\n"
    "  ldp d10, d11, [sp, #128]\n"
    "  ldp d12, d13, [sp, #144]\n"
    "  ldp d14, d15, [sp, #160]\n"
    "  ldp x19, x20, [sp, #16]\n"
    "  ldp x21, x22, [sp, #32]\n"
    "  ldp x23, x24, [sp, #48]\n"
    "  ldp x25, x26, [sp, #64]\n"
    "  ldp x27, x28, [sp, #80]\n"
    "  ldr x18, [sp, #104]\n"
    "  ldp x29, x30, [sp], #192\n"
    "  ret\n");

/* For a program: calls of the places in the begin object, as probes make them. None says from where it was called. */
#define CALLED(name, place) name ":\n  stp x29, x30, [sp, #-16]!\n  bl " place "\n  ldp x29, x30, [sp], #16\n  ret\n"
#define CALLS_OF_PROBES                                                                    \
  __asm__(CALLED("entered", "__vprof_at_entry") CALLED("entered_from", "__vprof_at_entry") \
              CALLED("left", "__vprof_at_exit"))

static inline char *thread_pointer(void) {
  return (char *)__builtin_thread_pointer();
}

#ifdef __cplusplus
}
#endif

#endif
