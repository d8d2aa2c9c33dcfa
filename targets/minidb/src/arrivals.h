/* arrivals.h: an open loop: when requests arrive, at a rate and by chance, whatever became of those before.
 *
 * Each client that is free takes the next arrival and waits for its time. With enough clients none is late; latencies
 * count from the arrival, so nothing is left out if all clients are busy then. All functions are thread-safe. */
#ifndef MINIDB_ARRIVALS_H
#define MINIDB_ARRIVALS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "rng.h"

struct arrivals {
  pthread_mutex_t mutex; /* protects the rest */
  pthread_cond_t stopped;
  struct rng rng;
  double gap_ns;  /* mean time between two */
  double next_ns; /* when the next one arrives, CLOCK_MONOTONIC */
  uint64_t count;
  bool stopping;
};

struct arrival {
  uint64_t number; /* from 1 */
  int64_t time_ns;
};

/* `rate`: arrivals a second, the first of them not before `begin_ns`. They follow the seed. */
void arrivals_init(struct arrivals *arrivals, double rate, uint64_t seed, int64_t begin_ns);
void arrivals_destroy(struct arrivals *arrivals);

/* Takes the next arrival and waits for its time. False: arrivals have been stopped before it. */
bool arrivals_await(struct arrivals *arrivals, struct arrival *arrival);

void arrivals_stop(struct arrivals *arrivals);

#endif
