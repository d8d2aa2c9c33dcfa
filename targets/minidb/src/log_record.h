/* log_record.h: what the log says of a transaction: a record for each change, then one that commits it.
 *
 * A transaction's records lie in one log, in one piece, and get there at its commit: what is not committed is in no
 * log, so nothing is ever undone. LSNs are given when a row changes, by one counter for all logs: by them the records
 * of all logs come into the order in which each row changed. */
#ifndef MINIDB_LOG_RECORD_H
#define MINIDB_LOG_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum { LOG_RECORD = 64, LOG_KIND = 16 }; /* bytes */

struct log_record {
  uint64_t lsn; /* not 0: that is padding */
  uint64_t txn_id;
  uint64_t account; /* of a commit: how many changes it commits, which lie in front of it */
  int64_t before;
  int64_t after;
  char kind[LOG_KIND]; /* the transaction's type, or "commit" */
  uint64_t checksum;   /* of all before it */
};

_Static_assert(sizeof(struct log_record) == LOG_RECORD, "records lie in files, without gaps");

/* Makes it whole: sets the checksum. */
void log_record_seal(struct log_record *record);

/* Whether it is as it was sealed. */
bool log_record_is_whole(const struct log_record *record);

struct log_record log_record_commit(uint64_t txn_id, uint64_t changes);
bool log_record_commits(const struct log_record *record);

#endif
