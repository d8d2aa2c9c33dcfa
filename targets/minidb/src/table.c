#include "table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

enum { LEAF_ACCOUNTS = 128, PAGE_ROWS = 32 };

/* Pages are numbered: the index's root, its leaves, then the rows' pages. */
enum { ROOT_PAGE = 0, FIRST_LEAF_PAGE = 1 };

uint64_t table_account(size_t row) {
  return 1000 + 7 * (uint64_t)row;
}

size_t table_row(uint64_t account) {
  return (account - 1000) / 7;
}

void table_init(struct table *table, size_t rows, bool lazy_lru) {
  *table = (struct table){.row_count = rows, .leaf_count = (rows + LEAF_ACCOUNTS - 1) / LEAF_ACCOUNTS};
  table->rows = allocate(rows, sizeof *table->rows);
  table->accounts = allocate(rows, sizeof *table->accounts);
  table->leaf_first = allocate(table->leaf_count, sizeof *table->leaf_first);
  for (size_t i = 0; i < rows; i++) {
    table->accounts[i] = table->rows[i].account = table_account(i);
    if (i % LEAF_ACCOUNTS == 0) table->leaf_first[i / LEAF_ACCOUNTS] = table->accounts[i];
  }
  buffer_pool_init(&table->pool, FIRST_LEAF_PAGE + table->leaf_count + rows / PAGE_ROWS + 1, lazy_lru);
}

void table_destroy(struct table *table) {
  buffer_pool_destroy(&table->pool);
  release(table->rows);
  release(table->accounts);
  release(table->leaf_first);
}

/* The position of the last key that is not above `account`. REQUIRES: the first one is not. */
static size_t search_keys(const uint64_t *keys, size_t count, uint64_t account) {
  size_t low = 0;
  while (count > 1) {
    size_t half = count / 2;
    if (keys[low + half] <= account) low += half;
    count -= half;
  }
  return low;
}

/* Sorts the keys, which come in reverse, by insertion: the pathology `rare` is here, the passes. */
static void leaf_sort(uint64_t *keys, size_t count, unsigned passes) {
  for (unsigned pass = 0; pass < passes; pass++) {
    for (size_t i = 0; i < count / 2; i++) {
      uint64_t key = keys[i];
      keys[i] = keys[count - 1 - i];
      keys[count - 1 - i] = key;
    }
    for (size_t i = 1; i < count; i++) {
      uint64_t key = keys[i];
      size_t at = i;
      for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
      keys[at] = key;
    }
  }
}

/* Sorts a copy of the leaf's keys. Returns whether they were as they should be. */
static bool leaf_rebuild(const uint64_t *keys, size_t count, unsigned passes) {
  uint64_t sorted[LEAF_ACCOUNTS];
  memcpy(sorted, keys, count * sizeof *keys);
  leaf_sort(sorted, count, passes);
  return memcmp(sorted, keys, count * sizeof *keys) == 0;
}

/* The slow path of a search, hardly ever taken: a leaf that looks damaged. */
static void leaf_repair(const uint64_t *keys, size_t count, unsigned *passes) {
  if (!leaf_rebuild(keys, count, *passes)) abort();
  *passes = 0;
}

static size_t search_leaf(struct table *table, size_t leaf, uint64_t account, struct work *work) {
  page_fetch(&table->pool, FIRST_LEAF_PAGE + leaf, &work->evict_sweeps);
  size_t first = leaf * LEAF_ACCOUNTS;
  size_t count = table->row_count - first < LEAF_ACCOUNTS ? table->row_count - first : LEAF_ACCOUNTS;
  if (work->sort_passes) leaf_repair(table->accounts + first, count, &work->sort_passes);
  return first + search_keys(table->accounts + first, count, account);
}

size_t index_search(struct table *table, uint64_t account, struct work *work) {
  page_fetch(&table->pool, ROOT_PAGE, &work->evict_sweeps);
  size_t leaf = search_keys(table->leaf_first, table->leaf_count, account);
  return search_leaf(table, leaf, account, work);
}

struct row *row_fetch(struct table *table, size_t row, struct work *work) {
  page_fetch(&table->pool, FIRST_LEAF_PAGE + table->leaf_count + row / PAGE_ROWS, &work->evict_sweeps);
  return &table->rows[row];
}
