#include "random.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *state) {
  uint64_t value = *state += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/* The stream's number goes through the mixer of its own, so that neighbouring seeds and streams share nothing. */
void random_seed(struct random *random, uint64_t seed, uint64_t stream) {
  uint64_t state = stream;
  state = splitmix64(&state) ^ seed;
  for (int i = 0; i < 4; i++) random->state[i] = splitmix64(&state);
}

static uint64_t rotate_left(uint64_t value, int by) {
  return value << by | value >> (64 - by);
}

uint64_t random_next(struct random *random) {
  uint64_t *s = random->state;
  const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
  const uint64_t shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = rotate_left(s[3], 45);
  return result;
}

/* The high half of a product of 128 bits; the few values that would make some results likelier are drawn again. */
int64_t random_uniform(struct random *random, int64_t low, int64_t high) {
  const uint64_t range = (uint64_t)high - (uint64_t)low + 1;
  if (range == 0) return (int64_t)random_next(random); /* all of int64_t */
  const uint64_t unfair = -range % range;
  unsigned __int128 product;
  do {
    product = (unsigned __int128)random_next(random) * range;
  } while ((uint64_t)product < unfair);
  return (int64_t)((uint64_t)low + (uint64_t)(product >> 64));
}

double random_unit(struct random *random) {
  return (double)(random_next(random) >> 11) * 0x1p-53;
}

double random_exponential(struct random *random, double mean) {
  return -mean * log1p(-random_unit(random));
}
