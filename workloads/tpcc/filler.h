/* One connection that fills one table after the other, each in a transaction:
 *
 *   filler_begin -> for each row: row_int, row_text, ... then filler_put -> filler_end
 */
#ifndef VPROF_TPCC_FILLER_H
#define VPROF_TPCC_FILLER_H

#include "db.h"
#include "random.h"
#include "row.h"

struct filler {
  struct db *db;
  struct random random;
  const char *now; /* the date of whatever has one */
  /* Told now and then that there are so many more rows. false: stop. */
  bool (*tell)(void *context, int64_t rows);
  void *context;
  struct db_bulk *bulk; /* of the table that is being filled */
  struct row row;
  int64_t untold_rows;
};

enum db_result filler_begin(struct filler *filler, const char *table, const char *columns);
/* The row is complete, the next one begins. false: an error, which filler_end returns. */
bool filler_put(struct filler *filler);
enum db_result filler_end(struct filler *filler);

#endif
