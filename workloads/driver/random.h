/* Random numbers of one client: splitmix64 seeds xoshiro256**; the same seed and client give the same inputs. */
#ifndef VPROF_RANDOM_H
#define VPROF_RANDOM_H

#include <stdint.h>

struct random {
  uint64_t state[4];
};

void random_seed(struct random *random, uint64_t seed, uint64_t stream);
uint64_t random_next(struct random *random);
/* Uniform in [low, high], both included, without bias. */
int64_t random_uniform(struct random *random, int64_t low, int64_t high);
/* Uniform in [0, 1). */
double random_unit(struct random *random);
/* Exponential with this mean: gaps of Poisson arrivals. */
double random_exponential(struct random *random, double mean);

#endif
