#include "ycsb.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "tables.h"
#include "zipf.h"

enum { LONGEST_SCAN = 100 };

#define FIELDS "field0, field1, field2, field3, field4, field5, field6, field7, field8, field9"

/* The inputs of all types: each uses some. */
struct inputs {
  char key[YCSB_KEY_SIZE];
  int field;
  int64_t scan_length;
  char values[YCSB_FIELDS][YCSB_FIELD_BYTES + 1];
};

/* The key of the next record to be inserted, by any client. */
static _Atomic int64_t next_record;

static int expect_records(const struct load_options *options) {
  char key[YCSB_KEY_SIZE], sql[128];
  ycsb_write_key(key, ycsb_records(options));
  snprintf(sql, sizeof sql, "SELECT count(*) FROM usertable WHERE ycsb_key < '%s'", key);
  return tables_expect(options, "ycsb", sql, ycsb_records(options));
}

static int begin(const struct load_options *options) {
  if (expect_records(options) != 0) return -1;
  struct db *db = tables_open(options);
  char last[YCSB_KEY_SIZE] = "";
  if (!db) return -1;
  const enum db_result result = db_one(db, "SELECT max(ycsb_key) FROM usertable", out_text(last));
  if (result == DB_OK) atomic_store(&next_record, strtoll(last + strlen("user"), NULL, 10) + 1);
  return tables_close(db, result);
}

static int begin_client(struct client *client) {
  struct zipf *zipf = client->own = allocate(1, sizeof *zipf);
  zipf_init(zipf, ycsb_records(client->options), client->options->theta);
  return 0;
}

static void end_client(struct client *client) {
  free(client->own);
}

static void choose_record(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  const int64_t records = ycsb_records(client->options);
  ycsb_write_key(inputs->key, zipf_scatter(zipf_draw(client->own, &client->random), records));
}

static void choose_field(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  choose_record(client, arguments);
  inputs->field = (int)random_uniform(&client->random, 0, YCSB_FIELDS - 1);
  ycsb_fill(inputs->values[0], &client->random);
}

static void choose_new(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  ycsb_write_key(inputs->key, atomic_fetch_add(&next_record, 1));
  for (int i = 0; i < YCSB_FIELDS; i++) ycsb_fill(inputs->values[i], &client->random);
}

static void choose_scan(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  choose_record(client, arguments);
  inputs->scan_length = random_uniform(&client->random, 1, LONGEST_SCAN);
}

/* One row of all fields. */
struct fields {
  char values[YCSB_FIELDS][YCSB_FIELD_BYTES + 1];
};
#define OUT_FIELDS(f)                                                                                     \
  out_text((f).values[0]), out_text((f).values[1]), out_text((f).values[2]), out_text((f).values[3]),     \
      out_text((f).values[4]), out_text((f).values[5]), out_text((f).values[6]), out_text((f).values[7]), \
      out_text((f).values[8]), out_text((f).values[9])

static enum db_result read_record(struct client *client, void *arguments, enum outcome *outcome) {
  struct inputs *inputs = arguments;
  struct fields fields;
  (void)outcome;
  return db_one(client->db, "SELECT " FIELDS " FROM usertable WHERE ycsb_key = ?", in(inputs->key), OUT_FIELDS(fields));
}

static enum db_result update_record(struct client *client, void *arguments, enum outcome *outcome) {
  static const char *const updates[YCSB_FIELDS] = {
      "UPDATE usertable SET field0 = ? WHERE ycsb_key = ?", "UPDATE usertable SET field1 = ? WHERE ycsb_key = ?",
      "UPDATE usertable SET field2 = ? WHERE ycsb_key = ?", "UPDATE usertable SET field3 = ? WHERE ycsb_key = ?",
      "UPDATE usertable SET field4 = ? WHERE ycsb_key = ?", "UPDATE usertable SET field5 = ? WHERE ycsb_key = ?",
      "UPDATE usertable SET field6 = ? WHERE ycsb_key = ?", "UPDATE usertable SET field7 = ? WHERE ycsb_key = ?",
      "UPDATE usertable SET field8 = ? WHERE ycsb_key = ?", "UPDATE usertable SET field9 = ? WHERE ycsb_key = ?",
  };
  struct inputs *inputs = arguments;
  (void)outcome;
  TRY(db_execute(client->db, updates[inputs->field], in(inputs->values[0]), in(inputs->key)));
  return db_changed(client->db) == 1 ? DB_OK : DB_NO_ROW;
}

#define IN_FIELD(i) in(inputs->values[i])

static enum db_result insert_record(struct client *client, void *arguments, enum outcome *outcome) {
  struct inputs *inputs = arguments;
  (void)outcome;
  return db_execute(client->db, "INSERT INTO usertable (ycsb_key, " FIELDS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    in(inputs->key), IN_FIELD(0), IN_FIELD(1), IN_FIELD(2), IN_FIELD(3), IN_FIELD(4), IN_FIELD(5),
                    IN_FIELD(6), IN_FIELD(7), IN_FIELD(8), IN_FIELD(9));
}

static enum db_result scan_records(struct client *client, void *arguments, enum outcome *outcome) {
  struct inputs *inputs = arguments;
  struct fields fields;
  (void)outcome;
  TRY(db_query(client->db, "SELECT " FIELDS " FROM usertable WHERE ycsb_key >= ? ORDER BY ycsb_key LIMIT ?",
               in(inputs->key), in(inputs->scan_length), OUT_FIELDS(fields)));
  while (db_next(client->db)) continue;
  return db_ended(client->db);
}

static enum db_result read_modify_write(struct client *client, void *arguments, enum outcome *outcome) {
  TRY(db_begin_as(client->db, client->type));
  TRY(read_record(client, arguments, outcome));
  TRY(update_record(client, arguments, outcome));
  return db_commit(client->db);
}

#define TYPE(name_, weight_, choose_, run_) \
  {.name = TYPE_NAME(name_),                \
   .weight = (weight_),                     \
   .arguments_size = sizeof(struct inputs), \
   .choose = (choose_),                     \
   .run = (run_)}

static const struct transaction_type types[] = {
    TYPE(read, 50, choose_record, read_record),
    TYPE(update, 50, choose_field, update_record),
    TYPE(insert, 0, choose_new, insert_record),
    TYPE(scan, 0, choose_scan, scan_records),
    TYPE(read_modify_write, 0, choose_field, read_modify_write),
};

const struct workload ycsb_workload = {
    .name = "ycsb",
    .summary = "records of 10 fields by keys of Zipf's law: read, update, insert, scan, read_modify_write",
    .types = types,
    .type_count = sizeof types / sizeof *types,
    .theta = 0.99,
    .setup = ycsb_setup,
    .begin = begin,
    .begin_client = begin_client,
    .end_client = end_client,
    .check = ycsb_check,
};
