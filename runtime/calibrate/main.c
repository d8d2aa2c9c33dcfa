/* vprof-calibrate: what a probe that is on adds to a call, on this machine and now.
 *
 * Run in a session of its own (analyzer/vprof/session/calibration.py). Prints `ready`, waits for a line, by when its
 * probe is on, and prints the nanoseconds of an enter+exit pair: the median over bursts of calls of an empty function,
 * less the same without a probe. The probe is what vprof-rewrite inserts; the ring's pages have been touched, and
 * nothing is lost. A real server's caches are colder: it pays this or more. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What vprof-rewrite puts before a unit. */
extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

/* A burst is short against a time slice; all of a round fit into the ring that calibration.py asks for. */
enum { BURST = 1000, BURSTS = 51, ROUND_PAUSE_NS = 30000000 };

__attribute__((noinline)) static void probed(void) {
  __VPROF_PROBE(0)
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void plain(void) {
  __asm__ volatile("" ::: "memory");
}

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double burst(void (*function)(void)) {
  const double start = cpu_ns();
  for (int i = 0; i < BURST; ++i) function();
  return (cpu_ns() - start) / BURST;
}

static double median_difference(void) {
  double ns[BURSTS];
  for (int b = 0; b < BURSTS; ++b) {
    const double without = burst(plain);
    ns[b] = burst(probed) - without;
  }
  qsort(ns, BURSTS, sizeof *ns, ascending);
  return ns[BURSTS / 2];
}

int main(void) {
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 2;
  median_difference(); /* touches the ring's memory */
  nanosleep(&(struct timespec){0, ROUND_PAUSE_NS}, NULL);
  printf("%.3f\n", median_difference());
  return 0;
}
