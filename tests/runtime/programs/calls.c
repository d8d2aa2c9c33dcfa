/* calls N: N times outer -> inner in one interval each; then says so. */
#include <stdio.h>
#include <stdlib.h>

#include "probes.h"
#include "vprof/vprof.h"

__attribute__((noinline)) static unsigned inner(unsigned x) {
  TEST_ENTER(1);
  x = x * 3 + 1;
  TEST_LEAVE(1);
  return x;
}

__attribute__((noinline)) static unsigned outer(unsigned x) {
  TEST_ENTER(0);
  x = inner(x) + 1;
  TEST_LEAVE(0);
  return x;
}

int main(int argc, char **argv) {
  const long n = argc > 1 ? atol(argv[1]) : 1;
  unsigned x = 0;
  for (long i = 1; i <= n; ++i) {
    vprof_interval_begin((uint64_t)i, "call");
    x = outer(x);
    vprof_interval_end((uint64_t)i);
  }
  printf("%u\n", x & 1);
  return 0;
}
