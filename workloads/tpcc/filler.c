#include "filler.h"

enum { ROWS_PER_TELL = 10000 };

static size_t count_columns(const char *columns) {
  size_t count = 1;
  for (; *columns; columns++) count += *columns == ',';
  return count;
}

enum db_result filler_begin(struct filler *filler, const char *table, const char *columns) {
  TRY(db_begin(filler->db));
  filler->bulk = db_bulk_begin(filler->db, table, columns, count_columns(columns));
  row_clear(&filler->row);
  return filler->bulk ? DB_OK : DB_FAILED;
}

static bool tell(struct filler *filler) {
  const int64_t rows = filler->untold_rows;
  filler->untold_rows = 0;
  return filler->tell(filler->context, rows);
}

bool filler_put(struct filler *filler) {
  const enum db_result result = db_bulk_row(filler->bulk, filler->row.values);
  row_clear(&filler->row);
  if (++filler->untold_rows == ROWS_PER_TELL && !tell(filler)) return false;
  return result == DB_OK;
}

enum db_result filler_end(struct filler *filler) {
  TRY(db_bulk_end(filler->bulk));
  TRY(db_commit(filler->db));
  tell(filler);
  return DB_OK;
}
