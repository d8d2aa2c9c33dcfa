// Every way out of a function closes its frame: early return, fall-through, goto, noreturn callee, longjmp.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf back;

static int early(int x) {
  if (x) return puts("early");
  return puts("late");
}

static void falls(void) { puts("falls"); }

static int jumps(int n) {
again:
  if (n-- > 0) goto again;
  goto out;
out:
  return puts("jumps");
}

static void thrown(void) { longjmp(back, 1); }

static void catches(void) {
  if (setjmp(back))
    puts("caught");
  else
    thrown();
}

static _Noreturn void leaves(void) {
  fflush(stdout);
  exit(0);
}

int main(void) {
  early(1);
  early(0);
  falls();
  jumps(3);
  catches();
  falls();
  leaves();
}
