/* latch.h: a futex lock, the engine's own primitive. Nothing but the target descriptor tells a profiler about it. */
#ifndef MINIDB_LATCH_H
#define MINIDB_LATCH_H

#include <stdatomic.h>

struct latch {
  atomic_uint state; /* free, held, or held with waiters */
};

/* All zeros is a free latch. Not recursive, not fair: who comes first after a release has it. */
void latch_acquire(struct latch *latch);

/* REQUIRES: the calling thread holds the latch. */
void latch_release(struct latch *latch);

#endif
