/* runtime MODE THREADS CALLS: CPU time per call of a probed function that does nothing, by thread; CALLS is a multiple
 * of 20,000. MODE `probe` runs hand-written probes (PROBE_ABI.md) as they are switched; `floor` reads the clock twice
 * and stores the difference. Prints `ready`, waits for a line, then prints one number of nanoseconds per thread. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
unsigned short *__vprof_enter(uint32_t site, void *frame);
void __vprof_leave(void *frame);

__attribute__((section("vprof_switch"), used)) static unsigned char switches[16];

static long calls;
static int floor_mode;
static __thread volatile uint64_t sink;

__attribute__((noinline)) static void probed(void) {
  char frame;
  uint32_t base;
  if (__builtin_expect(*(volatile unsigned char *)switches == 1, 0)) {
    memcpy(&base, __start_vprof_switch + 8, sizeof base);
    __vprof_enter(base + (uint32_t)(switches - __start_vprof_switch), &frame);
  }
  __asm__ volatile("" ::: "memory");
  if (__builtin_expect(*(volatile unsigned char *)switches != 0, 0)) __vprof_leave(&frame);
}

__attribute__((noinline)) static void two_clocks(void) {
  const uint64_t start = __rdtsc();
  __asm__ volatile("" ::: "memory");
  sink = __rdtsc() - start;
}

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* In bursts that fit into the default ring, with pauses in which it is drained: what a call costs while nothing is
 * lost. */
static void *measure(void *result) {
  const long burst = 20000;
  const struct timespec pause = {0, 10000000};
  double total_ns = 0;
  for (long done = 0; done < calls; done += burst) {
    const double start = cpu_ns();
    if (floor_mode)
      for (long i = 0; i < burst; ++i) two_clocks();
    else
      for (long i = 0; i < burst; ++i) probed();
    total_ns += cpu_ns() - start;
    nanosleep(&pause, NULL);
  }
  *(double *)result = total_ns / (double)calls;
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int threads = atoi(argv[2]);
  pthread_t ids[64];
  double results[64];
  if (threads < 1 || threads > 64) return 2;
  floor_mode = strcmp(argv[1], "floor") == 0;
  calls = atol(argv[3]);
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 2;
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, measure, &results[i]);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  for (int i = 0; i < threads; ++i) printf("%.3f\n", results[i]);
  return 0;
}
