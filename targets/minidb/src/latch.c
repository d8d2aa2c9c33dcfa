#define _GNU_SOURCE
#include "latch.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, HELD, CONTENDED };

static void futex(atomic_uint *word, int operation, unsigned value) {
  syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Who waits marks the latch contended and takes it so: the release after it then wakes the next one. */
void latch_acquire(struct latch *latch) {
  unsigned state = FREE;
  if (atomic_compare_exchange_strong(&latch->state, &state, HELD)) return;
  while (atomic_exchange(&latch->state, CONTENDED) != FREE) {
    futex(&latch->state, FUTEX_WAIT, CONTENDED);
  }
}

void latch_release(struct latch *latch) {
  if (atomic_exchange(&latch->state, FREE) == CONTENDED) {
    futex(&latch->state, FUTEX_WAKE, 1);
  }
}
