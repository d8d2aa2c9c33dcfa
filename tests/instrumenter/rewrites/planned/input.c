// A build for one plan: what it does not name has no probe, and is still known with its calls.
#include <stdio.h>

static int twice(int n) {
  return 2 * n;
}

static int planned(int n) {
  return twice(n) + 1;
}

static int other(int n) {
  return planned(n) + twice(n);
}

int main(void) {
  printf("%d\n", other(3));
  return 0;
}
