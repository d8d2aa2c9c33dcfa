/* pathology.h: which variance is planted, and how much work a transaction is dealt.
 *
 * A pathology only changes amounts of work, how often the hot row is chosen and how many workers there are: the
 * engine's code is the same in all of them. Amounts are drawn from the request's generator, so they depend on the seed,
 * not on timing. */
#ifndef MINIDB_PATHOLOGY_H
#define MINIDB_PATHOLOGY_H

#include <stddef.h>

#include "rng.h"
#include "txn_type.h"

/* In `percent` of 100 transactions uniform in [1, most], else 1. */
struct spread {
  unsigned percent;
  unsigned most;
};

/* In one of `one_in` transactions `work`, else 0. */
struct rarely {
  unsigned one_in;
  unsigned work;
};

struct pathology {
  const char *name;
  size_t workers;           /* unless --workers says another number; 0: the usual */
  unsigned hot_row_percent; /* transactions whose first row is row 0 */
  struct spread audit;      /* rounds of audit_checksum */
  struct spread compress;   /* passes of wal_compress_block */
  struct spread evict;      /* sweeps of lru_evict_scan */
  struct spread version;    /* rounds of row_encode, and as many of row_digest */
  struct rarely rebuild;    /* passes of leaf_sort */
  unsigned scan[TXN_TYPES]; /* rounds of history_scan */
};

/* The amounts of one transaction. */
struct work {
  unsigned audit_rounds;
  unsigned compress_passes;
  unsigned evict_sweeps;
  unsigned version_rounds;
  unsigned sort_passes;
  unsigned scan_rounds;
  unsigned stall_us;      /* of commit_stall, under every pathology: not dealt, --stall-every says when */
  unsigned cleanup_units; /* of post_commit_cleanup, under every pathology: after the interval's end */
};

/* NULL if there is no such pathology. */
const struct pathology *pathology_find(const char *name);

/* `amount` is in percent: 70 plants the same cause in the same transactions, with 0.7 of the work. */
struct work pathology_deal(const struct pathology *pathology, enum txn_type type, unsigned amount, struct rng *rng);

#endif
