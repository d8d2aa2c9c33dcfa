#include "bursts.h"

#include <stdlib.h>
#include <time.h>

static double cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double burst_ns(void (*function)(void), long bursts) {
  const struct timespec pause = {0, 10000000};
  double *ns = calloc((size_t)bursts, sizeof *ns);
  for (long b = 0; b < bursts; ++b) {
    const double start = cpu_ns();
    for (long i = 0; i < BURST; ++i) function();
    ns[b] = (cpu_ns() - start) / BURST;
    nanosleep(&pause, NULL);
  }
  qsort(ns, (size_t)bursts, sizeof *ns, ascending);
  const double median = ns[bursts / 2];
  free(ns);
  return median;
}
