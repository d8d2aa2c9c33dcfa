/* As host.c, but linked with the library. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "planted.h"

int main(int argc, char **argv) {
  long sum = 0;
  for (int k = 0; argc == 2 && k < atoi(argv[1]); ++k) {
    sum += plug(k);
    usleep(300);
  }
  printf("%ld\n", sum);
  return 0;
}
