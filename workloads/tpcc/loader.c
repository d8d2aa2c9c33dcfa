/* setup: tables, then items and warehouses by some connections at a time, then indexes.
 *
 * The rows of the table of warehouses come last. A database whose setup was interrupted has none, so that nobody takes
 * it for a whole one.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "population.h"
#include "tables.h"
#include "tpcc.h"

enum { MAX_THREADS = 8, ROWS_OF_WAREHOUSE = 499000 /* about: lines of orders are random */ };

struct load {
  const struct load_options *options;
  char now[32];
  atomic_llong next_part; /* 0: items; 1 .. : a warehouse each */
  atomic_llong rows;      /* that are there */
  atomic_bool failed;
};

/* Numbers of their own for each part, whichever thread fills it, and none that a client of a run draws. */
static void seed_part(struct random *random, const struct load_options *options, int64_t part) {
  random_seed(random, options->seed, (uint64_t)1 << 32 | (uint64_t)part);
}

static bool tell(void *context, int64_t rows) {
  struct load *load = context;
  const int64_t total = TPCC_ITEMS + load->options->scale * ROWS_OF_WAREHOUSE;
  const int64_t done = atomic_fetch_add(&load->rows, rows) + rows;
  if (isatty(STDERR_FILENO)) fprintf(stderr, "\rtpcc: %3d %%", (int)(done < total ? 100 * done / total : 100));
  return !atomic_load(&load->failed);
}

static void wipe_progress(void) {
  if (isatty(STDERR_FILENO)) fputs("\r            \r", stderr);
}

/* Another thread may have failed before: only the first one says why. */
static void fail(struct load *load, const char *error) {
  if (atomic_exchange(&load->failed, true)) return;
  wipe_progress();
  complain("tpcc: %s", error);
}

static void fill_parts(struct load *load, struct db *db) {
  struct filler filler = {.db = db, .now = load->now, .tell = tell, .context = load};
  while (!atomic_load(&load->failed)) {
    const int64_t part = atomic_fetch_add(&load->next_part, 1);
    if (part > load->options->scale) return;
    seed_part(&filler.random, load->options, part);
    const enum db_result result = part ? tpcc_fill_warehouse(&filler, part) : tpcc_fill_items(&filler);
    if (result != DB_OK) fail(load, db_error(db));
  }
}

static void *fill_thread(void *argument) {
  struct load *load = argument;
  struct db *db = tables_open(load->options);
  if (db) {
    fill_parts(load, db);
    db_close(db);
  } else {
    atomic_store(&load->failed, true);
  }
  return NULL;
}

/* As many threads as there are CPUs and parts, this one among them. */
static void fill(struct load *load) {
  pthread_t threads[MAX_THREADS];
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  int count = 0;
  while (count < MAX_THREADS - 1 && count + 1 < cpus && count < load->options->scale) {
    if (pthread_create(&threads[count], NULL, fill_thread, load) != 0) break;
    count++;
  }
  fill_thread(load);
  while (count > 0) pthread_join(threads[--count], NULL);
}

static enum db_result fill_warehouse_rows(struct load *load, struct db *db) {
  struct filler filler = {.db = db, .now = load->now, .tell = tell, .context = load};
  seed_part(&filler.random, load->options, load->options->scale + 1);
  return tpcc_fill_warehouse_rows(&filler, load->options->scale);
}

static enum db_result make(struct load *load, struct db *db) {
  TRY(tpcc_create_tables(db));
  fill(load);
  if (atomic_load(&load->failed)) return DB_OK; /* which is known already */
  TRY(tpcc_create_indexes(db));
  TRY(fill_warehouse_rows(load, db));
  return tpcc_analyze_tables(db);
}

int tpcc_setup(const struct load_options *options) {
  struct load load = {.options = options};
  const time_t now = time(NULL);
  struct tm broken_down;
  strftime(load.now, sizeof load.now, "%Y-%m-%d %H:%M:%S", gmtime_r(&now, &broken_down));
  struct db *db = tables_open(options);
  if (!db) return -1;
  if (make(&load, db) != DB_OK) fail(&load, db_error(db));
  wipe_progress();
  db_close(db);
  return atomic_load(&load.failed) ? -1 : 0;
}
