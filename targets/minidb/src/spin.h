/* spin.h: work that only costs processor time, and the clock. */
#ifndef MINIDB_SPIN_H
#define MINIDB_SPIN_H

#include <stdint.h>

/* Computes for about `units` microseconds on a 3 GHz processor. The amount of work is fixed, not the time. */
void spin_work(unsigned units);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t now_ns(void);

/* Sleeps `micros` microseconds, less if a signal arrives. */
void sleep_us(unsigned micros);

#endif
