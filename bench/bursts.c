#include "bursts.h"

#include <stdio.h>
#include <time.h>

static double ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* As many at once as a core can. */
static double additions_ns(void) {
  enum { ROUNDS = 4000 };
  unsigned a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  const double start = ns(CLOCK_MONOTONIC);
  for (int i = 0; i < ROUNDS; ++i) {
    ++a, ++b, ++c, ++d, ++e, ++f;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    ++a, ++b, ++c, ++d, ++e, ++f;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  }
  return ns(CLOCK_MONOTONIC) - start;
}

void measure_bursts(void (*function)(void), long bursts, struct burst *result) {
  const struct timespec pause = {0, 10000000};
  for (long b = 0; b < bursts; ++b) {
    const double before = additions_ns();
    const double start = ns(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < BURST; ++i) function();
    const double end = ns(CLOCK_THREAD_CPUTIME_ID);
    const double after = additions_ns();
    result[b] = (struct burst){(end - start) / BURST, before > after ? before : after};
    nanosleep(&pause, NULL);
  }
}

void print_bursts(const struct burst *bursts, long count) {
  for (long b = 0; b < count; ++b) printf("%.3f %.0f\n", bursts[b].ns, bursts[b].additions_ns);
}
