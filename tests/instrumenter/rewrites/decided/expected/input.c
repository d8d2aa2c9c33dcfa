// A small function has a probe if a condition decides about its call and it always leads to a function with one, or if
// it always leads to a call that may take long.
#include <stdio.h>

static volatile int sum;

static void work(int n) { __VPROF_PROBE(0) 
  for (int i = 0; i < n; i++) sum += i * n;
}
static void says(const char *text) { __VPROF_PROBE(1)  puts(text); }

static void constantly(void) { work(1); }
static void on_a_branch(void) { __VPROF_PROBE(2)  work(2); }
static void behind_a_return(void) { __VPROF_PROBE(3)  work(3); }
static void in_a_case(void) { __VPROF_PROBE(4)  work(4); }
static int as_right_side(void) { __VPROF_PROBE(5)  return work(5), 1; }
static void by_two_small_ones(void) { __VPROF_PROBE(6)  constantly(); }
static int leaf(int x) { return x + 1; }
static void has_a_fast_way(int x) {
  if (x) work(x);
}

void for_other_units(void) { work(6); }
static void waits(void) { __VPROF_PROBE(7)  says("waits"); }

static void skips(int x) {
  if (x) return;
  behind_a_return();
}

int main(int argc, char **argv) { __VPROF_PROBE(8) 
  constantly();
  if (argc) on_a_branch();
  skips(!argc);
  switch (argc) {
    case 1:
      in_a_case();
  }
  if (argc && as_right_side()) by_two_small_ones();
  if (argc) has_a_fast_way(leaf(0));
  for_other_units();
  waits();
  return argv[0] ? 0 : leaf(argc);
}
