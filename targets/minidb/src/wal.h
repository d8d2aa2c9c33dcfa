/* wal.h: the write-ahead log. Records go into a buffer; a commit is durable when a flush has covered its LSN.
 *
 * One latch serializes flushes, and a flush takes everything appended so far (group commit): who gets the latch and
 * finds its LSN flushed has nothing left to do. The device is memory. All functions are thread-safe. */
#ifndef MINIDB_WAL_H
#define MINIDB_WAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "latch.h"

enum {
  WAL_RECORD = 64,        /* bytes */
  WAL_BUFFER = 64 * 1024, /* bytes; never full: every worker flushes before its next transaction */
  WAL_BLOCK = 1024,       /* bytes of a compression block */
};

struct wal_record {
  uint64_t txn_id;
  uint64_t row;
  int64_t before;
  int64_t after;
  uint8_t kind[WAL_RECORD - 32];
};

struct wal {
  pthread_mutex_t append_mutex; /* protects buffer, used, appended_lsn */
  uint8_t *buffer;
  size_t used;
  uint64_t appended_lsn;

  struct latch flush_latch; /* protects the rest */
  uint8_t *sealed;          /* what the flush in progress writes */
  uint64_t flushed_lsn;
  uint64_t device_bytes;
};

void wal_init(struct wal *wal);
void wal_destroy(struct wal *wal);

/* Returns the record's LSN. */
uint64_t wal_append(struct wal *wal, const struct wal_record *record);

/* Returns when the log is durable up to `lsn`. `passes` is the compressor's effort, should this caller flush. */
void wal_flush(struct wal *wal, uint64_t lsn, unsigned passes);

#endif
