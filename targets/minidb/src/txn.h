/* txn.h: a transaction, from the client's request to the reply, and its execution.
 *
 * A client owns the memory of its transaction. Between txn_begin and txn_reply a worker works on it; after txn_reply
 * nobody but the client may touch it. */
#ifndef MINIDB_TXN_H
#define MINIDB_TXN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_manager.h"
#include "parallel_log.h"
#include "pathology.h"
#include "table.h"
#include "txn_type.h"

/* What the statements of a TXN_BATCH do with their accounts. */
struct batch {
  enum lock_mode modes[MAX_LOCKS];
  unsigned pauses_us[MAX_LOCKS]; /* how long each sleeps when it has its row */
};

struct txn {
  uint64_t id; /* not 0; unique among the requests of a run */
  enum txn_type type;
  const char *type_name;
  size_t account_count;
  uint64_t accounts[MAX_LOCKS]; /* ascending */
  int64_t amount;
  uint64_t fee;
  struct work work;
  struct batch batch;

  struct lock_owner locks;
  struct log_batch log;
  uint64_t lsn; /* of its commit; 0: it changed nothing */
  int64_t begin_ns;
  int64_t end_ns;

  struct txn *next; /* in the queue */
  pthread_mutex_t reply_mutex;
  pthread_cond_t reply_arrived;
  bool replied;
};

/* What transactions run on. */
struct database {
  struct table table;
  struct lock_manager locks;
  struct parallel_log log;
};

const char *txn_type_name(enum txn_type type);

/* How many accounts a transaction of this type names. */
size_t txn_type_accounts(enum txn_type type);

/* Prepares and releases what a struct txn owns; the client reuses it for all its requests. */
void txn_init(struct txn *txn);
void txn_destroy(struct txn *txn);

/* The request's latency runs from `begin_ns`, now or not long ago when the client calls txn_begin, to txn_end, called
 * by the worker. */
void txn_begin(struct txn *txn, int64_t begin_ns);
void txn_end(struct txn *txn);

/* Runs and commits: returns when the changes are durable and the locks are released. */
void txn_execute(struct database *database, struct txn *txn);

/* Worker: hands the transaction back. Client: waits for that. */
void txn_reply(struct txn *txn);
void txn_await_reply(struct txn *txn);

#endif
