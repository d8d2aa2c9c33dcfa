// A probe stands behind the brace of every function that calls, loops, or is long.
#include <stdio.h>

static int small(int x) { return x + 1; }

static int calls(int x) { __VPROF_PROBE(0)  return small(x); }

static int loops(int n)
{ __VPROF_PROBE(1) 
  int sum = 0;
  for (int i = 0; i < n; i++) sum += i;
  return sum;
}

int main(void) { __VPROF_PROBE(2) 
  printf("%d\n", calls(1) + loops(4));
  return 0;
}
