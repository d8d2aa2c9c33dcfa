#include "wal.h"

#include <string.h>

#include "memory.h"

void wal_init(struct wal *wal, size_t records, struct log_file *file) {
  size_t size = records * LOG_RECORD + WAL_BLOCK; /* the last block is padded */
  *wal = (struct wal){.buffer = allocate(size, 1), .sealed = allocate(size, 1), .file = file};
  pthread_mutex_init(&wal->append_mutex, NULL);
}

void wal_destroy(struct wal *wal) {
  pthread_mutex_destroy(&wal->append_mutex);
  release(wal->buffer);
  release(wal->sealed);
}

uint64_t wal_append(struct wal *wal, const struct log_record *records, size_t count) {
  pthread_mutex_lock(&wal->append_mutex);
  memcpy(wal->buffer + wal->used, records, count * LOG_RECORD);
  wal->used += count * LOG_RECORD;
  uint64_t position = wal->appended += count;
  pthread_mutex_unlock(&wal->append_mutex);
  return position;
}

/* Takes the buffer's content for a flush, so that appends go on meanwhile. Returns its length in bytes. */
static size_t wal_seal(struct wal *wal, uint64_t *position) {
  pthread_mutex_lock(&wal->append_mutex);
  uint8_t *full = wal->buffer;
  wal->buffer = wal->sealed;
  wal->sealed = full;
  size_t length = wal->used;
  wal->used = 0;
  *position = wal->appended;
  pthread_mutex_unlock(&wal->append_mutex);
  return length;
}

/* The size of a block when every byte that its dictionary predicts takes no room. Each pass starts with what the one
 * before has learned. The pathology `wal` is here: the passes, while the flush latch is held. */
static size_t wal_compress_block(const uint8_t *block, size_t length, unsigned passes) {
  uint8_t dictionary[256] = {0};
  size_t size = length;
  for (unsigned pass = 0; pass < passes; pass++) {
    uint32_t context = 0;
    size = 0;
    for (size_t i = 0; i < length; i++) {
      size += dictionary[context >> 24] != block[i];
      dictionary[context >> 24] = block[i];
      context = (context + block[i]) * 2654435761u;
    }
  }
  return size;
}

/* Blocks are padded to their full size, as log pages are; only the last one carries the caller's effort. */
static void wal_write(struct wal *wal, size_t length, unsigned passes) {
  size_t padded = (length + WAL_BLOCK - 1) / WAL_BLOCK * WAL_BLOCK;
  memset(wal->sealed + length, 0, padded - length);
  for (size_t start = 0; start < padded; start += WAL_BLOCK) {
    unsigned effort = start + WAL_BLOCK < padded ? 1 : passes;
    wal->device_bytes += wal_compress_block(wal->sealed + start, WAL_BLOCK, effort);
  }
  if (wal->file) log_file_write(wal->file, wal->sealed, padded);
}

static void wal_write_sealed(struct wal *wal, unsigned passes) {
  uint64_t position;
  size_t length = wal_seal(wal, &position);
  wal_write(wal, length, passes);
  wal->flushed = position;
}

void wal_flush(struct wal *wal, uint64_t position, unsigned passes) {
  latch_acquire(&wal->flush_latch);
  if (wal->flushed < position) wal_write_sealed(wal, passes);
  latch_release(&wal->flush_latch);
}
