/* contention.h: a load that contends for rows while it hardly needs a processor, so that hundreds of clients wait for
 * each other on two cores. A transaction has some statements; each locks a row, and then sleeps.
 *
 * Rows are chosen by Zipf's law, as in the microbenchmark of thesis section 4.6.1. The hot ones are always the same,
 * and strewn over the table: since rows are locked in ascending order, some of those that wait for a hot row hold
 * another one, which yet others wait for. */
#ifndef MINIDB_CONTENTION_H
#define MINIDB_CONTENTION_H

#include <stddef.h>

#include "rng.h"
#include "txn.h"

struct contention_level {
  const char *name;
  double theta; /* Zipf's exponent */
};

/* A level over the rows of one table. */
struct contention {
  size_t rows;
  double *cumulative; /* by rank: the share of all choices up to there */
  size_t step;        /* from the row of one rank to that of the next */
};

/* NULL if there is no such level. */
const struct contention_level *contention_find(const char *name);

void contention_init(struct contention *contention, const struct contention_level *level, size_t rows);
void contention_destroy(struct contention *contention);

/* The rows of a batch, ascending, and what each of its statements does. Thread-safe. REQUIRES: account_count is set. */
void contention_draw(const struct contention *contention, struct txn *txn, struct rng *rng);

#endif
