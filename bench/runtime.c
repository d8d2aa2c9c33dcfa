/* runtime MODE THREADS CALLS: CPU time per call of a probed function that does nothing, by thread; CALLS is a multiple
 * of 20,000. MODE `probe` runs the probe that vprof-cc puts into a function, `caller` that of one that also numbers a
 * call, both as they are switched; `floor` reads the clock twice and stores the difference. Prints `ready`, waits for a
 * line, then prints one number of nanoseconds per thread: the median over bursts of 20,000 calls. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

/* What vprof-rewrite puts before a unit. */
extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "bursts.h"
#include "vprof_prelude.h"

static long bursts;
static void (*function)(void);
static __thread volatile uint64_t sink;

__attribute__((noinline)) static void probed(void) {
  __VPROF_PROBE(0)
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void probed_caller(void) {
  __VPROF_PROBE_CALLS(1)
  __VPROF_CALL_NUMBER(1);
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void two_clocks(void) {
  const uint64_t start = __rdtsc();
  __asm__ volatile("" ::: "memory");
  sink = __rdtsc() - start;
}

static void *measure(void *result) {
  *(double *)result = burst_ns(function, bursts);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int threads = atoi(argv[2]);
  pthread_t ids[64];
  double results[64];
  bursts = atol(argv[3]) / BURST;
  if (threads < 1 || threads > 64 || bursts < 1) return 2;
  function = probed;
  if (strcmp(argv[1], "floor") == 0) function = two_clocks;
  if (strcmp(argv[1], "caller") == 0) function = probed_caller;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 2;
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, measure, &results[i]);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads; ++i) printf("%.3f\n", results[i]);
  return 0;
}
