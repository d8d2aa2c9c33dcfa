/* requests.h: what clients ask for. A request depends on its generator alone, not on timing. */
#ifndef MINIDB_REQUESTS_H
#define MINIDB_REQUESTS_H

#include <stddef.h>

#include "contention.h"
#include "pathology.h"
#include "rng.h"
#include "txn.h"

struct requests {
  const struct pathology *pathology;
  unsigned amount;                     /* of planted work, in percent */
  size_t rows;                         /* of the table */
  const struct contention *contention; /* all requests are batches of it; NULL: transfers, deposits, statements */
};

/* Sets what the transaction should do. */
void requests_draw(const struct requests *requests, struct txn *txn, struct rng *rng);

/* Adds the request to a checksum of requests. */
uint64_t requests_checksum(uint64_t sum, const struct txn *txn);

#endif
