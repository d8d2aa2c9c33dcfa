/* Prints what driver/random.c draws: random_check SEED STREAM COUNT, a line per round. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

int main(int argc, char **argv) {
  struct random random;
  if (argc != 4) return 2;
  random_seed(&random, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
  for (int i = 0; i < atoi(argv[3]); i++) {
    printf("%" PRId64, random_uniform(&random, -3, 6));
    printf(" %" PRId64, random_uniform(&random, INT64_MIN, INT64_MAX));
    printf(" %" PRId64, random_uniform(&random, 0, (INT64_C(3) << 61) - 1)); /* without care a third were likelier */
    printf(" %.17g", random_unit(&random));
    printf(" %.17g\n", random_exponential(&random, 5));
  }
}
