/* Hand-written probes: what vprof-cc makes of a function, for programs that test the runtime alone (PROBE_ABI.md). */
#ifndef VPROF_TEST_PROBES_H
#define VPROF_TEST_PROBES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
unsigned short *__vprof_enter(uint32_t site, void *frame);
void __vprof_leave(void *frame);

/* This unit's switch bytes. */
__attribute__((section("vprof_switch"), used)) static unsigned char test_switches[16];

static inline uint32_t test_site(unsigned i) {
  uint32_t base;
  __builtin_memcpy(&base, __start_vprof_switch + 8, sizeof base);
  return base + (uint32_t)(&test_switches[i] - __start_vprof_switch);
}

/* A probe of site `i` around a block: TEST_ENTER at its start, TEST_LEAVE at its end, in one scope. */
#define TEST_ENTER(i)             \
  volatile char test_frame = (i); \
  if (*(volatile unsigned char *)&test_switches[i] == 1) __vprof_enter(test_site(i), (void *)&test_frame)
#define TEST_LEAVE(i) \
  if (*(volatile unsigned char *)&test_switches[i] != 0) __vprof_leave((void *)&test_frame)

#ifdef __cplusplus
}
#endif
#endif
