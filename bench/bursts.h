/* CPU time per call of a function, measured in bursts with pauses between them, in which what the calls have written
 * is drained: what a call costs while nothing is lost. */
#ifndef VPROF_BENCH_BURSTS_H
#define VPROF_BENCH_BURSTS_H

enum { BURST = 20000 }; /* calls; fits into the default ring */

struct burst {
  double ns; /* of CPU per call */
  /* Just before and after it, whichever was longer: a loop of independent additions in registers. It takes longer while
   * the core's other hardware thread is at work, be it for another guest, which nothing else shows. */
  double additions_ns;
};

/* Fills `result`, one for each burst. */
void measure_bursts(void (*function)(void), long bursts, struct burst *result);

/* A line for each: the two numbers. */
void print_bursts(const struct burst *bursts, long count);

#endif
