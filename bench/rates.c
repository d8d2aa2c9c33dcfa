/* rates PROCESSES RECORDS SECONDS [mixed]: processes that together write so many records a second, each in a burst
 * every millisecond, through the probe that vprof-cc puts into a function. `mixed`: of 15 functions that call each
 * other at random and work for 0 to 60 ns each, so that records differ as those of a server do. Prints `ready`, waits
 * for a line, then prints their nanoseconds of CPU per record, sleeping and waking included. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static uint64_t chance = 1;

/* The next of a sequence without a visible rule, by Marsaglia's xorshift. */
static uint64_t drawn(void) {
  chance ^= chance << 13;
  chance ^= chance >> 7;
  return chance ^= chance << 17;
}

static long mixed(int depth, long most);

/* Returns how many of the calls that may be made are still to be made. */
#define MIXED(n)                                                                       \
  __attribute__((noinline)) static long mixed##n(int depth, long left) {               \
    __VPROF_PROBE(n)                                                                   \
    for (volatile unsigned work = drawn() & 31; work != 0; --work) {                   \
    }                                                                                  \
    while (left > 0 && depth < 6 && (drawn() & 3) != 0) left = mixed(depth + 1, left); \
    return left;                                                                       \
  }
MIXED(1)
MIXED(2)
MIXED(3)
MIXED(4)
MIXED(5)
MIXED(6)
MIXED(7)
MIXED(8)
MIXED(9)
MIXED(10)
MIXED(11)
MIXED(12)
MIXED(13)
MIXED(14)
MIXED(15)

/* One call and those below it, of at most so many; returns how many are left. */
static long mixed(int depth, long most) {
  static long (*const all[])(int, long) = {mixed1, mixed2,  mixed3,  mixed4,  mixed5,  mixed6,  mixed7, mixed8,
                                           mixed9, mixed10, mixed11, mixed12, mixed13, mixed14, mixed15};
  return all[drawn() % 15](depth, most - 1);
}

static void write_records(double per_period, long periods, int is_mixed) {
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  double due = 0;
  for (long period = 0; period < periods; ++period) {
    due += per_period;
    const long now = (long)due;
    due -= (double)now;
    for (long left = now; left > 0;)
      if (is_mixed)
        left = mixed(0, left);
      else
        --left, probed();
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
  if (argc != 4 && (argc != 5 || strcmp(argv[4], "mixed") != 0)) return 2;
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
    chance = (uint64_t)i + 1;
    write_records(rate / processes * PERIOD_NS / 1e9, (long)(seconds * 1e9 / PERIOD_NS), argc == 5);
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  struct rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  printf("%.3f\n", (ns(used.ru_utime) + ns(used.ru_stime)) / (rate * seconds));
  return 0;
}
