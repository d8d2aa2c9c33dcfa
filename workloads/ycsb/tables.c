/* The table of YCSB: its rows before a run, and what must hold after one. */
#include "tables.h"

#include <stdio.h>

#include "ycsb.h"

#define COLUMNS "ycsb_key, field0, field1, field2, field3, field4, field5, field6, field7, field8, field9"

int64_t ycsb_records(const struct load_options *options) {
  return options->scale * 1000;
}

void ycsb_write_key(char *key, int64_t number) {
  snprintf(key, YCSB_KEY_SIZE, "user%012lld", (long long)number);
}

void ycsb_fill(char *field, struct random *random) {
  static const char characters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
  uint64_t bits = 0;
  for (int i = 0; i < YCSB_FIELD_BYTES; i++, bits >>= 6) {
    if (i % 10 == 0) bits = random_next(random);
    field[i] = characters[bits & 63];
  }
  field[YCSB_FIELD_BYTES] = 0;
}

static enum db_result load(struct db *db, const struct load_options *options) {
  char key[YCSB_KEY_SIZE], fields[YCSB_FIELDS][YCSB_FIELD_BYTES + 1];
  const char *row[1 + YCSB_FIELDS] = {key};
  struct random random;
  random_seed(&random, options->seed, 0);
  struct db_bulk *bulk = db_bulk_begin(db, "usertable", COLUMNS, 1 + YCSB_FIELDS);
  if (!bulk) return DB_FAILED;
  for (int i = 0; i < YCSB_FIELDS; i++) row[1 + i] = fields[i];
  for (int64_t number = 0; number < ycsb_records(options); number++) {
    ycsb_write_key(key, number);
    for (int i = 0; i < YCSB_FIELDS; i++) ycsb_fill(fields[i], &random);
    if (db_bulk_row(bulk, row) != DB_OK) break; /* db_bulk_end says why */
  }
  return db_bulk_end(bulk);
}

static enum db_result create(struct db *db, const struct load_options *options) {
  static const char *const statements[] = {
      "DROP TABLE IF EXISTS usertable",
      "CREATE TABLE usertable (ycsb_key varchar(32) PRIMARY KEY, field0 varchar(100), field1 varchar(100), "
      "field2 varchar(100), field3 varchar(100), field4 varchar(100), field5 varchar(100), field6 varchar(100), "
      "field7 varchar(100), field8 varchar(100), field9 varchar(100))",
  };
  TRY(tables_run(db, statements, sizeof statements / sizeof *statements));
  TRY(load(db, options));
  return tables_analyze(db, "usertable");
}

int ycsb_setup(const struct load_options *options) {
  struct db *db = tables_open(options);
  return db ? tables_close(db, create(db, options)) : -1;
}

int ycsb_check(const struct load_options *options) {
  const int64_t records = ycsb_records(options);
  char last[YCSB_KEY_SIZE], loaded[128];
  ycsb_write_key(last, records);
  snprintf(loaded, sizeof loaded, "SELECT count(*) FROM usertable WHERE ycsb_key < '%s'", last);
  const struct condition conditions[] = {
      {"no record is lost", loaded, records, records},
      {"fields are whole", "SELECT count(*) FROM usertable WHERE length(field0) <> 100 OR length(field9) <> 100", 0, 0},
  };
  return tables_check(options, conditions, sizeof conditions / sizeof *conditions);
}
