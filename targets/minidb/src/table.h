/* table.h: one table of accounts with a two-level index on their numbers.
 *
 * Account numbers are fixed at creation, so the index needs no locks; a row's content is protected by its row lock
 * (lock_manager.h). Every page a search or a row access touches is fetched through the buffer pool. */
#ifndef MINIDB_TABLE_H
#define MINIDB_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buffer_pool.h"
#include "pathology.h"

struct row {
  uint64_t account;
  int64_t balance;
  uint64_t checksum;
  uint64_t image; /* of its latest version: what row_encode made, and its digest */
  uint64_t digest;
  uint8_t owner[88];
};

struct table {
  struct row *rows;
  uint64_t *accounts;   /* the index's leaves, ascending */
  uint64_t *leaf_first; /* the index's root: the first account of each leaf */
  size_t row_count;
  size_t leaf_count;
  struct buffer_pool pool;
};

/* REQUIRES: rows >= 1. */
void table_init(struct table *table, size_t rows, bool lazy_lru);
void table_destroy(struct table *table);

/* The account number of row number `row`. */
uint64_t table_account(size_t row);

/* The row number that an account of that number has; it may be beyond the table. */
size_t table_row(uint64_t account);

/* The row number of `account`. REQUIRES: the account exists. `work`: what of it is done here is 1 or 0 afterwards. */
size_t index_search(struct table *table, uint64_t account, struct work *work);

/* The row with that number. REQUIRES: the caller holds its lock. */
struct row *row_fetch(struct table *table, size_t row, struct work *work);

#endif
