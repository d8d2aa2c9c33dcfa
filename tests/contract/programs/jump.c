// Frames left by longjmp, and calls before and after them.
#include <setjmp.h>
#include <stdio.h>

static jmp_buf back;

__attribute__((noinline)) void thrower(int depth) {
  if (depth == 0) longjmp(back, 1);
  thrower(depth - 1);
  puts("never");
}

__attribute__((noinline)) void attempt(int depth) {
  if (!setjmp(back)) thrower(depth);
}

int main(void) {
  for (volatile int i = 0; i < 10; i++) attempt(2);
  return 0;
}
