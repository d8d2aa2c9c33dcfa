/* The clock of all times in the driver: CLOCK_MONOTONIC, in nanoseconds. */
#ifndef VPROF_LOAD_CLOCK_H
#define VPROF_LOAD_CLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

int64_t now_ns(void);
/* What the kernel adds to the sleeps of this thread in order to wake fewer times, 50 us usually, becomes nothing. */
void clock_wake_precisely(void);
/* false: `stop` became true before. It is looked at each tenth of a second. */
bool sleep_until_ns(int64_t deadline_ns, const atomic_bool *stop);

#endif
