/* recovery.h: the table as the log's files say it was when the program ended, however it ended.
 *
 *     each file -> whole records -> those that a commit follows -> of all files, by LSN -> each row as it was last
 *
 * What a flush did not finish was promised to nobody: it is cut off, unless its commit is there. */
#ifndef MINIDB_RECOVERY_H
#define MINIDB_RECOVERY_H

#include <stddef.h>
#include <stdint.h>

#include "table.h"

struct recovery {
  size_t transactions;
  size_t changes;
  uint64_t last_lsn; /* of all records, committed or not; 0: there are none */
};

/* Redoes what the files in `folder` have, also such as are not written to any more. A change that does not begin where
 * the row's last one ended means that the log is not in order: one line on standard error, exit code 1. REQUIRES: the
 * table is as table_init left it, and nobody writes to the files. */
struct recovery recover(const char *folder, struct table *table);

#endif
