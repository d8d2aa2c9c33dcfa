/* pathology.h: which variance is planted, and how much work a transaction is dealt.
 *
 * A pathology only changes amounts of work and how often the hot row is chosen: the engine's code is the same in all
 * of them. Amounts are drawn from the request's generator, so they depend on the seed, not on timing. */
#ifndef MINIDB_PATHOLOGY_H
#define MINIDB_PATHOLOGY_H

#include "rng.h"

/* In `percent` of 100 transactions uniform in [1, most], else 1. */
struct spread {
  unsigned percent;
  unsigned most;
};

struct pathology {
  const char *name;
  unsigned hot_row_percent; /* transactions whose first row is row 0 */
  struct spread audit;      /* rounds of audit_checksum */
  struct spread compress;   /* passes of wal_compress_block */
  struct spread evict;      /* sweeps of lru_evict_scan */
};

/* The amounts of one transaction. */
struct work {
  unsigned audit_rounds;
  unsigned compress_passes;
  unsigned evict_sweeps;
  unsigned cleanup_units; /* of post_commit_cleanup, under every pathology: after the interval's end */
};

/* NULL if there is no such pathology. */
const struct pathology *pathology_find(const char *name);

/* `amount` is in percent: 70 plants the same cause in the same transactions, with 0.7 of the work. */
struct work pathology_deal(const struct pathology *pathology, unsigned amount, struct rng *rng);

#endif
