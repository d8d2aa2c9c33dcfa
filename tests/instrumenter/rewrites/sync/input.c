// A primitive of the program: waits and wake-ups surround the whole call.
#include <stdio.h>

struct latch {
  int id;
  int taken;
};

static int latch_wait(struct latch *latch) {
  if (latch->taken) return puts("busy"), 0;
  latch->taken = 1;
  return 1;
}

static void latch_release(struct latch *latch) { latch->taken = 0; }

int main(void) {
  struct latch latch = {5, 0};
  latch_wait(&latch);
  latch_wait(&latch);
  latch_release(&latch);
  return latch.taken;
}
