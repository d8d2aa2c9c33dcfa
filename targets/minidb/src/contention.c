#include "contention.h"

#include <math.h>
#include <string.h>

#include "memory.h"

enum { WRITE_PERCENT = 60, MEAN_PAUSE_US = 5000 };

static const struct contention_level levels[] = {{"low", 0.7}, {"medium", 0.8}, {"high", 0.9}};

const struct contention_level *contention_find(const char *name) {
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    if (strcmp(levels[i].name, name) == 0) return &levels[i];
  }
  return NULL;
}

static void accumulate_shares(struct contention *contention, double theta) {
  double sum = 0;
  for (size_t i = 0; i < contention->rows; i++) contention->cumulative[i] = sum += pow((double)i + 1, -theta);
  for (size_t i = 0; i < contention->rows; i++) contention->cumulative[i] /= sum;
}

static size_t common_divisor(size_t a, size_t b) {
  return b ? common_divisor(b, a % b) : a;
}

/* About the golden part of the table, so that rows of following ranks lie far from each other; without a divisor in
 * common with it, so that each row has one rank. */
static size_t golden_step(size_t rows) {
  size_t step = (size_t)(0.6180339887 * (double)rows);
  while (common_divisor(step, rows) > 1) step--;
  return step;
}

void contention_init(struct contention *contention, const struct contention_level *level, size_t rows) {
  contention->rows = rows;
  contention->cumulative = allocate(rows, sizeof *contention->cumulative);
  contention->step = golden_step(rows);
  accumulate_shares(contention, level->theta);
}

void contention_destroy(struct contention *contention) {
  release(contention->cumulative);
}

static size_t draw_row(const struct contention *contention, struct rng *rng) {
  double share = rng_unit(rng);
  size_t low = 0, high = contention->rows - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (contention->cumulative[middle] > share) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return (contention->rows / 2 + low * contention->step) % contention->rows;
}

/* Puts the row into its place among the `count` before it, which ascend. False: it is there already. */
static bool insert_row(size_t *rows, size_t count, size_t row) {
  size_t at = count;
  while (at > 0 && rows[at - 1] > row) at--;
  if (at > 0 && rows[at - 1] == row) return false;
  memmove(rows + at + 1, rows + at, (count - at) * sizeof *rows);
  rows[at] = row;
  return true;
}

void contention_draw(const struct contention *contention, struct txn *txn, struct rng *rng) {
  size_t rows[MAX_LOCKS];
  for (size_t i = 0; i < txn->account_count;) i += insert_row(rows, i, draw_row(contention, rng));
  for (size_t i = 0; i < txn->account_count; i++) {
    txn->accounts[i] = table_account(rows[i]);
    txn->batch.modes[i] = rng_percent(rng, WRITE_PERCENT) ? LOCK_EXCLUSIVE : LOCK_SHARED;
    txn->batch.pauses_us[i] = (unsigned)rng_exponential(rng, MEAN_PAUSE_US);
  }
}
