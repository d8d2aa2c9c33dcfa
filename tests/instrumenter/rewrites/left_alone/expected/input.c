// What cannot be probed safely stays as it is; the metadata gives the reason.
#include <stdio.h>

#define BEGIN {
#define END }
#ifdef __clang__
#define MUSTTAIL __attribute__((musttail))
#else
#define MUSTTAIL
#endif

static void from_macro(void) BEGIN puts("macro"); END

static __attribute__((naked, used)) void naked(void) { __asm__("ret"); }

static int target(int x) { __VPROF_PROBE(0)  return puts("tail") + x; }

static int tail(int x) { MUSTTAIL return target(x); }

static int fast(int x) { __VPROF_PROBE(1)  return puts("ifunc") + x; }
static int (*resolve(void))(int) { return fast; }
static int chosen(int) __attribute__((ifunc("resolve")));

static __attribute__((no_instrument_function)) void hands_off(void) { puts("hands off"); }

int main(void) { __VPROF_PROBE(2) 
  from_macro();
  tail(1);
  chosen(1);
  hands_off();
  return 0;
}
