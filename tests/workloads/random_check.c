/* Prints what driver/random.c and driver/zipf.c draw: random_check SEED STREAM COUNT [N THETA], a line per round; with
 * N and THETA ranks of Zipf's law. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "zipf.h"

int main(int argc, char **argv) {
  struct random random;
  if (argc != 4 && argc != 6) return 2;
  random_seed(&random, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
  if (argc == 6) {
    struct zipf zipf;
    zipf_init(&zipf, atoll(argv[4]), atof(argv[5]));
    for (int i = 0; i < atoi(argv[3]); i++) {
      const int64_t rank = zipf_draw(&zipf, &random);
      printf("%" PRId64 " %" PRId64 "\n", rank, zipf_scatter(rank, zipf.count));
    }
    return 0;
  }
  for (int i = 0; i < atoi(argv[3]); i++) {
    printf("%" PRId64, random_uniform(&random, -3, 6));
    printf(" %" PRId64, random_uniform(&random, INT64_MIN, INT64_MAX));
    printf(" %" PRId64, random_uniform(&random, 0, (INT64_C(3) << 61) - 1)); /* without care a third were likelier */
    printf(" %.17g", random_unit(&random));
    printf(" %.17g\n", random_exponential(&random, 5));
  }
}
