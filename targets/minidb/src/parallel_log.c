#include "parallel_log.h"

void parallel_log_init(struct parallel_log *log, size_t count, size_t batches, const char *folder, uint64_t last_lsn) {
  *log = (struct parallel_log){.count = count, .has_files = folder != NULL};
  atomic_store(&log->last_lsn, last_lsn);
  pthread_mutex_init(&log->choice_mutex, NULL);
  for (size_t i = 0; i < count; i++) {
    if (folder) log->files[i] = log_file_open(folder, i);
    wal_init(&log->wals[i], batches * (MAX_LOCKS + 1), folder ? &log->files[i] : NULL);
  }
}

void parallel_log_destroy(struct parallel_log *log) {
  for (size_t i = 0; i < log->count; i++) {
    wal_destroy(&log->wals[i]);
    if (log->has_files) log_file_close(&log->files[i]);
  }
  pthread_mutex_destroy(&log->choice_mutex);
}

void log_add(struct parallel_log *log, struct log_batch *batch, const struct log_record *record) {
  struct log_record *mine = &batch->records[batch->count++];
  *mine = *record;
  mine->lsn = atomic_fetch_add(&log->last_lsn, 1) + 1;
  log_record_seal(mine);
}

/* A log that is free, or the one with the fewest committers: the first of several. */
static size_t log_enter(struct parallel_log *log) {
  size_t best = 0;
  pthread_mutex_lock(&log->choice_mutex);
  for (size_t i = 1; i < log->count; i++) {
    if (log->committers[i] < log->committers[best]) best = i;
  }
  log->committers[best]++;
  pthread_mutex_unlock(&log->choice_mutex);
  return best;
}

static void log_leave(struct parallel_log *log, size_t chosen) {
  pthread_mutex_lock(&log->choice_mutex);
  log->committers[chosen]--;
  pthread_mutex_unlock(&log->choice_mutex);
}

uint64_t log_commit(struct parallel_log *log, struct log_batch *batch, unsigned passes) {
  if (!batch->count) return 0;
  struct log_record commit = log_record_commit(batch->records[0].txn_id, batch->count);
  log_add(log, batch, &commit);
  size_t chosen = log_enter(log);
  struct wal *wal = &log->wals[chosen];
  wal_flush(wal, wal_append(wal, batch->records, batch->count), passes);
  log_leave(log, chosen);
  uint64_t lsn = batch->records[batch->count - 1].lsn;
  batch->count = 0;
  return lsn;
}
