/* parallel_log.h: the log in several files, so that a commit finds one that nobody writes to.
 *
 *     a change -> log_add: an LSN, into the transaction's batch -> log_commit: the batch, into one of the logs
 *
 * A committer takes a log that is free; if all are busy, it waits for the one with fewer waiters, as in
 * thesis section 3.4.2. A transaction gives its locks back when it is durable, so whoever builds on it comes later in
 * LSNs, and is durable later. All functions are thread-safe. */
#ifndef MINIDB_PARALLEL_LOG_H
#define MINIDB_PARALLEL_LOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "lock_table.h"
#include "log_record.h"
#include "wal.h"

/* What a transaction has changed and not committed: at most one record for each row it locks, and the commit. */
struct log_batch {
  struct log_record records[MAX_LOCKS + 1];
  size_t count;
};

struct parallel_log {
  atomic_uint_least64_t last_lsn;
  pthread_mutex_t choice_mutex; /* protects `committers` */
  struct wal wals[MAX_LOGS];
  struct log_file files[MAX_LOGS];
  size_t committers[MAX_LOGS]; /* by log: who writes to it, and who waits for that */
  size_t count;
  bool has_files;
};

/* `batches`: how many transactions there are at a time. `folder`: of the files, which are written behind what they
 * have; NULL: the devices are memory. LSNs go on behind `last_lsn`. */
void parallel_log_init(struct parallel_log *log, size_t count, size_t batches, const char *folder, uint64_t last_lsn);
void parallel_log_destroy(struct parallel_log *log);

/* Gives the record its LSN. */
void log_add(struct parallel_log *log, struct log_batch *batch, const struct log_record *record);

/* Returns when the batch is durable; it is empty then. The LSN of the commit; 0 if there was nothing to commit.
 * `passes`: as for wal_flush. */
uint64_t log_commit(struct parallel_log *log, struct log_batch *batch, unsigned passes);

#endif
