#include "log_record.h"

#include <stddef.h>
#include <string.h>

static uint64_t checksum_of(const struct log_record *record) {
  const uint8_t *bytes = (const uint8_t *)record;
  uint64_t sum = 14695981039346656037u;
  for (size_t i = 0; i < offsetof(struct log_record, checksum); i++) sum = (sum ^ bytes[i]) * 1099511628211u;
  return sum;
}

void log_record_seal(struct log_record *record) {
  record->checksum = checksum_of(record);
}

bool log_record_is_whole(const struct log_record *record) {
  return record->checksum == checksum_of(record);
}

struct log_record log_record_commit(uint64_t txn_id, uint64_t changes) {
  return (struct log_record){.txn_id = txn_id, .account = changes, .kind = "commit"};
}

bool log_record_commits(const struct log_record *record) {
  return strcmp(record->kind, "commit") == 0;
}
