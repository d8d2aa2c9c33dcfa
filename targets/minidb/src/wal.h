/* wal.h: a write-ahead log. Records go into a buffer; they are durable when a flush has covered their position.
 *
 * One latch serializes flushes, and a flush takes everything appended so far (group commit): who gets the latch and
 * finds its position flushed has nothing left to do. The device is a file, or memory. All functions are thread-safe. */
#ifndef MINIDB_WAL_H
#define MINIDB_WAL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "latch.h"
#include "log_file.h"
#include "log_record.h"

enum { WAL_BLOCK = 1024 }; /* bytes: what is compressed, and padded, as one */

struct wal {
  pthread_mutex_t append_mutex; /* protects buffer, used, appended */
  uint8_t *buffer;
  size_t used;
  uint64_t appended; /* records so far */

  struct latch flush_latch; /* protects the rest */
  uint8_t *sealed;          /* what the flush in progress writes */
  uint64_t flushed;         /* records */
  uint64_t device_bytes;
  struct log_file *file; /* NULL: the device is memory */
};

/* With room for `records` that are not flushed yet. The file belongs to the caller. */
void wal_init(struct wal *wal, size_t records, struct log_file *file);
void wal_destroy(struct wal *wal);

/* Appends the records in one piece. Returns the position behind them. */
uint64_t wal_append(struct wal *wal, const struct log_record *records, size_t count);

/* Returns when the log is durable up to `position`. `passes` is the compressor's effort, should this caller flush. */
void wal_flush(struct wal *wal, uint64_t position, unsigned passes);

#endif
