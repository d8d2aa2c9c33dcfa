/* Runs SQL one after the other on one connection: ask postgres|mysql SOCKET SQL ... A query has one column, which is
 * printed, a line per row. Other statements are marked by a ! before them. */
#include <stdio.h>
#include <string.h>

#include "db.h"

static enum db_result ask(struct db *db, const char *sql) {
  char line[1000];
  if (*sql == '!') return db_run(db, sql + 1);
  TRY(db_query(db, sql, out_text(line)));
  while (db_next(db)) puts(line);
  return db_ended(db);
}

int main(int argc, char **argv) {
  char error[300];
  const enum db_kind kind = strcmp(argv[1], "postgres") == 0 ? DB_POSTGRES : DB_MYSQL;
  const struct db_address address = {.kind = kind, .socket = argv[2], .user = "vprof", .database = "vprof"};
  struct db *db = db_open(&address, error, sizeof error);
  if (!db) fprintf(stderr, "%s\n", error);
  for (int i = 3; db && i < argc; i++) {
    if (ask(db, argv[i]) == DB_OK) continue;
    fprintf(stderr, "%s\n", db_error(db));
    return 1;
  }
  if (db) db_close(db);
  return !db;
}
