// Calls after a longjmp that keep their frame variables lower than those that were left: by address they could be
// inside.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

static jmp_buf back;
static sigjmp_buf away;

NOINLINE void leaves(int value) {
  if (value) longjmp(back, value);
  puts("never");
}

#ifdef __clang__
__attribute__((optnone))  // parameters above the frame variable
#endif
NOINLINE void
after(long a, long b, long c, long d, long e, long f) {
  if (a + b + c + d + e + f != 21) puts("never");
}

void raised(int number) {
  for (int i = 0; i < 2; i++) number += i;
  siglongjmp(away, number);
}

NOINLINE void leaves_handler(void) {
  raise(SIGUSR1);
  puts("never");
}

NOINLINE void attempt(void) {
  if (setjmp(back)) {
    after(1, 2, 3, 4, 5, 6);
    if (!sigsetjmp(away, 1)) leaves_handler();
    after(1, 2, 3, 4, 5, 6);
  } else {
    leaves(1);
  }
}

int main(void) {
  signal(SIGUSR1, raised);
  for (volatile int i = 0; i < 10; i++) attempt();
  return 0;
}
