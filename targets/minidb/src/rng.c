#include "rng.h"

#include <math.h>

static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

struct rng rng_make(uint64_t seed, uint64_t stream) {
  return (struct rng){mix(mix(seed) + stream)};
}

uint64_t rng_next(struct rng *rng) {
  rng->state += 0x9e3779b97f4a7c15u;
  return mix(rng->state);
}

unsigned rng_between(struct rng *rng, unsigned low, unsigned high) {
  return low + (unsigned)(rng_next(rng) % ((uint64_t)high - low + 1));
}

double rng_unit(struct rng *rng) {
  return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

double rng_exponential(struct rng *rng, double mean) {
  return -mean * log1p(-rng_unit(rng));
}

int rng_percent(struct rng *rng, unsigned percent) {
  return rng_next(rng) % 100 < percent;
}
