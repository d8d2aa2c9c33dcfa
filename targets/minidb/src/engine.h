/* engine.h: the server: worker threads that take transactions from the queue, and a background checkpointer. */
#ifndef MINIDB_ENGINE_H
#define MINIDB_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_policy.h"
#include "queue.h"
#include "txn.h"

/* How the engine is built; `seed` is of what the engine itself leaves to chance. */
struct engine_options {
  size_t workers;
  size_t rows;
  uint64_t seed;
  const struct lock_policy *lock_policy;
  size_t logs;
  bool lazy_lru;
  const char *log_folder; /* NULL: the log is in memory, and there is nothing to recover */
};

struct engine {
  struct database database;
  struct queue queue;
  pthread_t *workers;
  size_t worker_count;
  pthread_t checkpointer;
  uint64_t seed;
  atomic_bool stopping;
};

/* Recovers what the log has, and starts all threads. The engine must stay where it is until engine_stop. */
void engine_start(struct engine *engine, const struct engine_options *options);

/* Serves what is queued, then ends all threads. REQUIRES: nobody submits any more. */
void engine_stop(struct engine *engine);

/* Hands a transaction to the workers; txn_await_reply waits for its end. Thread-safe. */
void engine_submit(struct engine *engine, struct txn *txn);

#endif
