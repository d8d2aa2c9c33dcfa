/* CPU time per call of a function, measured in bursts with pauses between them, in which what the calls have written
 * is drained: what a call costs while nothing is lost. */
#ifndef VPROF_BENCH_BURSTS_H
#define VPROF_BENCH_BURSTS_H

enum { BURST = 20000 }; /* calls; fits into the default ring */

/* Nanoseconds: the median over the bursts. It leaves out the first touch of memory and bursts that others have
 * disturbed. */
double burst_ns(void (*function)(void), long bursts);

#endif
