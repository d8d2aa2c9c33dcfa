/* When the transactions of an open loop should begin: one schedule for all clients, that no client can delay.
 *
 * Whichever client is free takes the next intended start. If all are busy, the schedule goes on without them, and what
 * they begin late counts as late.
 */
#ifndef VPROF_LOAD_ARRIVALS_H
#define VPROF_LOAD_ARRIVALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "random.h"

struct arrivals {
  pthread_mutex_t mutex; /* protects all of it */
  struct random random;
  double mean_gap_ns;
  bool even;
  int64_t first_ns;
  double offset_ns; /* from first_ns, of the next one */
  uint64_t count;   /* taken so far */
};

void arrivals_init(struct arrivals *arrivals, double rate, bool even, uint64_t seed, int64_t first_ns);
/* The next intended start; never less than the one before. Thread-safe. */
int64_t arrivals_take(struct arrivals *arrivals);
/* What arrivals_take would return now. */
int64_t arrivals_peek(struct arrivals *arrivals);

#endif
