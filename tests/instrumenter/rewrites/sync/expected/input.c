// A primitive of the program: waits and wake-ups surround the whole call.
#include <stdio.h>

struct latch {
  int id;
  int taken;
};

static int latch_wait(struct latch *latch) { __VPROF_PROBE(0) __VPROF_AROUND(sync_0, wait_begin, wait_end, (latch->id)) 
  if (latch->taken) return puts("busy"), 0;
  latch->taken = 1;
  return 1;
}

static void latch_release(struct latch *latch) { __VPROF_AROUND(sync_1, wake, wake_done, (latch->id))  latch->taken = 0; }

int main(void) { __VPROF_PROBE_CALLS(1) 
  struct latch latch = {5, 0};
  (__VPROF_CALL_NUMBER(1), latch_wait(&latch));
  (__VPROF_CALL_NUMBER(2), latch_wait(&latch));
  latch_release(&latch);
  return latch.taken;
}
