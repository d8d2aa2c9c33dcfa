#define _GNU_SOURCE
#include "latch.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, HELD, CONTENDED };

static void futex_wait(atomic_uint *word, unsigned value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake_one(atomic_uint *word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Who waits marks the latch contended and takes it so: the release after it then wakes the next one. */
void latch_acquire(struct latch *latch) {
  unsigned state = FREE;
  if (atomic_compare_exchange_strong(&latch->state, &state, HELD)) return;
  while (atomic_exchange(&latch->state, CONTENDED) != FREE) {
    futex_wait(&latch->state, CONTENDED);
  }
}

void latch_release(struct latch *latch) {
  if (atomic_exchange(&latch->state, FREE) == CONTENDED) {
    futex_wake_one(&latch->state);
  }
}
