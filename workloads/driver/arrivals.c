#include "arrivals.h"

/* Apart from those of the clients, which are numbered from 0. */
static const uint64_t stream = UINT64_MAX;

/* Even gaps are multiplied, not added up, so that a long run does not drift. */
static void advance(struct arrivals *arrivals) {
  arrivals->count++;
  if (arrivals->even) {
    arrivals->offset_ns = (double)arrivals->count * arrivals->mean_gap_ns;
  } else {
    arrivals->offset_ns += random_exponential(&arrivals->random, arrivals->mean_gap_ns);
  }
}

void arrivals_init(struct arrivals *arrivals, double rate, bool even, uint64_t seed, int64_t first_ns) {
  pthread_mutex_init(&arrivals->mutex, NULL);
  random_seed(&arrivals->random, seed, stream);
  arrivals->mean_gap_ns = 1e9 / rate;
  arrivals->even = even;
  arrivals->first_ns = first_ns;
  arrivals->offset_ns = 0;
  arrivals->count = 0;
  if (!even) advance(arrivals);
}

int64_t arrivals_peek(struct arrivals *arrivals) {
  pthread_mutex_lock(&arrivals->mutex);
  const int64_t next_ns = arrivals->first_ns + (int64_t)arrivals->offset_ns;
  pthread_mutex_unlock(&arrivals->mutex);
  return next_ns;
}

int64_t arrivals_take(struct arrivals *arrivals) {
  pthread_mutex_lock(&arrivals->mutex);
  const int64_t next_ns = arrivals->first_ns + (int64_t)arrivals->offset_ns;
  advance(arrivals);
  pthread_mutex_unlock(&arrivals->mutex);
  return next_ns;
}
