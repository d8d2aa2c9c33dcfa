#include "tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "options.h"

struct db *tables_open(const struct load_options *options) {
  char error[300] = "";
  struct db *db = db_open(&options->server, error, sizeof error);
  if (!db) complain("%s", error);
  return db;
}

int tables_close(struct db *db, enum db_result result) {
  if (result == DB_NO_ROW) complain("a row that should be there is missing");
  if (result != DB_OK && result != DB_NO_ROW) complain("%s", db_error(db));
  db_close(db);
  return result == DB_OK ? 0 : -1;
}

enum db_result tables_run(struct db *db, const char *const *statements, size_t count) {
  for (size_t i = 0; i < count; i++) TRY(db_run(db, statements[i]));
  return DB_OK;
}

enum db_result tables_analyze(struct db *db, const char *table) {
  char sql[100];
  snprintf(sql, sizeof sql, "%s %s", db_kind(db) == DB_POSTGRES ? "VACUUM ANALYZE" : "ANALYZE TABLE", table);
  return db_run(db, sql);
}

int tables_expect(const struct load_options *options, const char *workload, const char *sql, int64_t expected) {
  struct db *db = tables_open(options);
  int64_t found;
  if (!db) return -1;
  const enum db_result result = db_one(db, sql, out(&found));
  if (result != DB_OK) {
    complain("%s: no database of `setup %s`", db_error(db), workload);
  } else if (found != expected) {
    complain("the database is not of this --scale (%" PRId64 " instead of %" PRId64 "): run setup %s", found, expected,
             workload);
  }
  db_close(db);
  return result == DB_OK && found == expected ? 0 : -1;
}

static enum db_result check_one(struct db *db, const struct condition *condition, int *failed) {
  int64_t found;
  TRY(db_one(db, condition->sql, out(&found)));
  if (found >= condition->low && found <= condition->high) {
    printf("ok %s\n", condition->name);
  } else {
    printf("FAILED %s: %" PRId64 " is not in %" PRId64 " .. %" PRId64 "\n", condition->name, found, condition->low,
           condition->high);
    ++*failed;
  }
  return DB_OK;
}

int tables_check(const struct load_options *options, const struct condition *conditions, size_t count) {
  struct db *db = tables_open(options);
  enum db_result result = DB_OK;
  int failed = 0;
  if (!db) return -1;
  for (size_t i = 0; i < count && result == DB_OK; i++) result = check_one(db, &conditions[i], &failed);
  return tables_close(db, result) == 0 ? failed : -1;
}
