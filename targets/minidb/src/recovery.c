#include "recovery.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log_file.h"
#include "log_record.h"
#include "memory.h"
#include "wal.h"

/* Changes, those that are committed in front. */
struct changes {
  struct log_record *records;
  size_t count;
  size_t room;
};

static void add(struct changes *changes, const struct log_record *record) {
  if (changes->count == changes->room) {
    changes->room = changes->room ? 2 * changes->room : 1024;
    changes->records = reallocate(changes->records, changes->room, sizeof *changes->records);
  }
  changes->records[changes->count++] = *record;
}

/* The commit keeps the changes in front of it, which are the last ones; what is between them and `committed` was never
 * committed. REQUIRES: there are so many behind `committed`. */
static size_t commit(struct changes *changes, size_t committed, uint64_t kept) {
  struct log_record *first = changes->records + committed;
  memmove(first, changes->records + changes->count - kept, kept * sizeof *first);
  return changes->count = committed + kept;
}

/* Adds the file's committed changes. Returns where its last whole record ends. */
static uint64_t read_records(const uint8_t *bytes, uint64_t length, struct changes *changes, struct recovery *found) {
  size_t committed = changes->count;
  uint64_t end = 0;
  for (uint64_t at = 0; at + LOG_RECORD <= length; at += LOG_RECORD) {
    struct log_record record;
    memcpy(&record, bytes + at, sizeof record);
    if (!record.lsn) continue;
    if (!log_record_is_whole(&record)) break;
    end = at + LOG_RECORD;
    if (record.lsn > found->last_lsn) found->last_lsn = record.lsn;
    if (!log_record_commits(&record)) {
      add(changes, &record);
    } else if (record.account <= changes->count - committed) {
      committed = commit(changes, committed, record.account);
      found->transactions++;
    }
  }
  changes->count = committed;
  return end;
}

static void recover_file(const char *folder, size_t number, struct changes *changes, struct recovery *found) {
  struct log_file file = log_file_open(folder, number);
  uint8_t *bytes = log_file_read(&file);
  uint64_t end = read_records(bytes, file.end, changes, found);
  log_file_cut(&file, end, (end + WAL_BLOCK - 1) / WAL_BLOCK * WAL_BLOCK);
  release(bytes);
  log_file_close(&file);
}

static bool is_there(const char *folder, size_t number) {
  char name[4096];
  snprintf(name, sizeof name, "%s/log.%zu", folder, number);
  return access(name, F_OK) == 0;
}

static int by_lsn(const void *a, const void *b) {
  const struct log_record *left = a, *right = b;
  return (left->lsn > right->lsn) - (left->lsn < right->lsn);
}

static void redo(struct table *table, const struct log_record *record) {
  size_t number = table_row(record->account);
  if (number >= table->row_count || table->rows[number].balance != record->before) {
    fprintf(stderr, "minidb: the log does not fit the table at LSN %" PRIu64 ", account %" PRIu64 "\n", record->lsn,
            record->account);
    exit(1);
  }
  table->rows[number].balance = record->after;
}

struct recovery recover(const char *folder, struct table *table) {
  struct recovery found = {0};
  struct changes changes = {0};
  for (size_t i = 0; i < MAX_LOGS; i++) {
    if (is_there(folder, i)) recover_file(folder, i, &changes, &found);
  }
  if (changes.count) qsort(changes.records, changes.count, sizeof *changes.records, by_lsn);
  for (size_t i = 0; i < changes.count; i++) redo(table, &changes.records[i]);
  found.changes = changes.count;
  release(changes.records);
  return found;
}
