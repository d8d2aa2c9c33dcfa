// Every way out of a function closes its frame: early return, fall-through, goto, noreturn callee, longjmp.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;

static int early(int x) { __VPROF_PROBE(0) 
  if (x) return puts("early");
  return puts("late");
}

static void falls(void) { __VPROF_PROBE(1)  puts("falls"); }

static int jumps(int n) { __VPROF_PROBE(2) 
again:
  if (n-- > 0) goto again;
  goto out;
out:
  return puts("jumps");
}

static void thrown(void) { __VPROF_PROBE(3)  longjmp(back, 1); }

static void catches(void) { __VPROF_PROBE(4) 
  if (setjmp(back))
    puts("caught");
  else
    thrown();
}

static _Noreturn void leaves(void) { __VPROF_PROBE(5) 
  fflush(stdout);
  exit(0);
}

int main(void) { __VPROF_PROBE_CALLS(6) 
  (__VPROF_CALL_NUMBER(1), early(1));
  (__VPROF_CALL_NUMBER(2), early(0));
  (__VPROF_CALL_NUMBER(3), falls());
  jumps(3);
  catches();
  (__VPROF_CALL_NUMBER(4), falls());
  leaves();
}
