/* rates PROCESSES RECORDS SECONDS: processes that together write so many records a second, each in a burst every
 * millisecond, through the probe that vprof-cc puts into a function. Prints `ready`, waits for a line, then prints
 * their nanoseconds of CPU per record, sleeping and waking included. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What vprof-rewrite puts before a unit. */
extern volatile unsigned char __vprof_sw[] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection vprof_switch,\"aw\",@progbits\n.hidden __vprof_sw\n.globl __vprof_sw\n"
    "__vprof_sw: .zero 16\n.popsection\n");
#include "vprof_prelude.h"

enum { PERIOD_NS = 1000000 };

__attribute__((noinline)) static void probed(void) {
  __VPROF_PROBE(0)
  __asm__ volatile("" ::: "memory");
}

static void write_records(double per_period, long periods) {
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  double due = 0;
  for (long period = 0; period < periods; ++period) {
    for (due += per_period; due >= 1; --due) probed();
    next.tv_nsec += PERIOD_NS;
    next.tv_sec += next.tv_nsec / 1000000000;
    next.tv_nsec %= 1000000000;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
}

static double ns(struct timeval t) {
  return 1e9 * (double)t.tv_sec + 1e3 * (double)t.tv_usec;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int processes = atoi(argv[1]);
  const double rate = atof(argv[2]), seconds = atof(argv[3]);
  if (processes < 1 || rate <= 0 || seconds <= 0) return 2;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 2;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child > 0) continue;
    write_records(rate / processes * PERIOD_NS / 1e9, (long)(seconds * 1e9 / PERIOD_NS));
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("%.3f\n", (ns(used.ru_utime) + ns(used.ru_stime)) / (rate * seconds));
  return 0;
}
