#include "arrivals.h"

#include <time.h>

enum { STREAM = 0 }; /* of the seed; those of requests follow */

void arrivals_init(struct arrivals *arrivals, double rate, uint64_t seed, int64_t begin_ns) {
  *arrivals = (struct arrivals){.rng = rng_make(seed, STREAM), .gap_ns = 1e9 / rate, .next_ns = (double)begin_ns};
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&arrivals->stopped, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&arrivals->mutex, NULL);
}

void arrivals_destroy(struct arrivals *arrivals) {
  pthread_cond_destroy(&arrivals->stopped);
  pthread_mutex_destroy(&arrivals->mutex);
}

static void wait_until(struct arrivals *arrivals, int64_t time_ns) {
  struct timespec until = {.tv_sec = time_ns / 1000000000, .tv_nsec = time_ns % 1000000000};
  while (!arrivals->stopping && !pthread_cond_timedwait(&arrivals->stopped, &arrivals->mutex, &until)) continue;
}

bool arrivals_await(struct arrivals *arrivals, struct arrival *arrival) {
  pthread_mutex_lock(&arrivals->mutex);
  arrivals->next_ns += rng_exponential(&arrivals->rng, arrivals->gap_ns);
  *arrival = (struct arrival){.number = ++arrivals->count, .time_ns = (int64_t)arrivals->next_ns};
  wait_until(arrivals, arrival->time_ns);
  bool arrived = !arrivals->stopping;
  pthread_mutex_unlock(&arrivals->mutex);
  return arrived;
}

void arrivals_stop(struct arrivals *arrivals) {
  pthread_mutex_lock(&arrivals->mutex);
  arrivals->stopping = true;
  pthread_cond_broadcast(&arrivals->stopped);
  pthread_mutex_unlock(&arrivals->mutex);
}
