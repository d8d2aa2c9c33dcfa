#include "engine.h"

#include "memory.h"
#include "recovery.h"
#include "spin.h"
#include "thread.h"

enum { PARSE_UNITS = 200, CHECKPOINT_PAUSE_US = 50000, CHECKPOINT_MOST_UNITS = 8000 };

/* Stands for parsing and checking a request. Decoy: the largest mean of a quiet run, and no variance. */
static void parse_request(void) {
  spin_work(PARSE_UNITS);
}

/* Stands for freeing what the transaction used. Decoy: its time varies, but after the interval's end. */
static void post_commit_cleanup(unsigned units) {
  spin_work(units);
}

static void serve_txn(struct engine *engine, struct txn *txn) {
  parse_request();
  txn_execute(&engine->database, txn);
  unsigned cleanup_units = txn->work.cleanup_units;
  txn_end(txn);
  txn_reply(txn);
  post_commit_cleanup(cleanup_units);
}

static void *worker_main(void *argument) {
  struct engine *engine = argument;
  struct txn *txn;
  while ((txn = queue_pop(&engine->queue))) serve_txn(engine, txn);
  buffer_pool_thread_end(&engine->database.table.pool);
  return NULL;
}

/* Stands for writing dirty pages. Decoy: varies more than anything else, in a thread that nobody waits for. */
static void checkpoint_write(unsigned units) {
  spin_work(units);
}

static void *checkpoint_main(void *argument) {
  struct engine *engine = argument;
  struct rng rng = rng_make(engine->seed, 0);
  while (!atomic_load(&engine->stopping)) {
    checkpoint_write(rng_between(&rng, 1, CHECKPOINT_MOST_UNITS));
    sleep_us(CHECKPOINT_PAUSE_US);
  }
  return NULL;
}

void engine_start(struct engine *engine, const struct engine_options *options) {
  *engine = (struct engine){.worker_count = options->workers, .seed = options->seed};
  table_init(&engine->database.table, options->rows, options->lazy_lru);
  lock_manager_init(&engine->database.locks, options->rows, options->lock_policy, options->seed);
  uint64_t last_lsn = 0;
  if (options->log_folder) last_lsn = recover(options->log_folder, &engine->database.table).last_lsn;
  parallel_log_init(&engine->database.log, options->logs, options->workers, options->log_folder, last_lsn);
  queue_init(&engine->queue);
  engine->workers = allocate(options->workers, sizeof *engine->workers);
  for (size_t i = 0; i < options->workers; i++) engine->workers[i] = thread_start(worker_main, engine);
  engine->checkpointer = thread_start(checkpoint_main, engine);
}

void engine_submit(struct engine *engine, struct txn *txn) {
  queue_push(&engine->queue, txn);
}

void engine_stop(struct engine *engine) {
  atomic_store(&engine->stopping, true);
  queue_close(&engine->queue);
  for (size_t i = 0; i < engine->worker_count; i++) pthread_join(engine->workers[i], NULL);
  pthread_join(engine->checkpointer, NULL);
  release(engine->workers);
  queue_destroy(&engine->queue);
  parallel_log_destroy(&engine->database.log);
  lock_manager_destroy(&engine->database.locks);
  table_destroy(&engine->database.table);
}
