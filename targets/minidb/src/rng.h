/* rng.h: a small seeded generator (splitmix64), so that one seed always gives the same requests.
 * A generator belongs to one thread at a time. */
#ifndef MINIDB_RNG_H
#define MINIDB_RNG_H

#include <stdint.h>

struct rng {
  uint64_t state;
};

/* A generator for stream `stream` of `seed`; different streams are independent. */
struct rng rng_make(uint64_t seed, uint64_t stream);

uint64_t rng_next(struct rng *rng);

/* Uniform in [low, high]. REQUIRES: low <= high. */
unsigned rng_between(struct rng *rng, unsigned low, unsigned high);

/* Uniform in [0, 1). */
double rng_unit(struct rng *rng);

/* Memoryless with that mean, above or equal to 0. */
double rng_exponential(struct rng *rng, double mean);

/* True in `percent` of 100 calls. */
int rng_percent(struct rng *rng, unsigned percent);

#endif
