/* zipf_locks: a small table of which some rows are wanted by all, after the microbenchmark of Tian et al., "Contention-
 * aware lock scheduling for transactional databases" (VLDB 2018).
 *
 * A transaction is five statements on five rows, drawn by Zipf's law. Each takes a shared lock (SELECT ... FOR SHARE)
 * or, in the share --writes of all statements, an exclusive one: by an UPDATE (type `update`) or by SELECT ... FOR
 * UPDATE, after which a commit has nothing to write (type `lock`). Rows come in any order, so that deadlocks occur.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "tables.h"
#include "zipf.h"

enum { STATEMENTS = 5 };

struct inputs {
  struct {
    int64_t row;
    bool exclusive;
  } statements[STATEMENTS];
};

static int64_t row_count(const struct load_options *options) {
  return options->scale * 1000;
}

static bool has_row(const struct inputs *inputs, int count, int64_t row) {
  for (int i = 0; i < count; i++) {
    if (inputs->statements[i].row == row) return true;
  }
  return false;
}

/* Five different rows: nobody waits for a lock that would only become exclusive. */
static void choose(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  for (int i = 0; i < STATEMENTS; i++) {
    int64_t row;
    do {
      row = zipf_scatter(zipf_draw(client->own, &client->random), row_count(client->options));
    } while (has_row(inputs, i, row));
    inputs->statements[i].row = row;
    inputs->statements[i].exclusive = random_unit(&client->random) < client->options->writes;
  }
}

static enum db_result take_shared(struct db *db, int64_t row) {
  int64_t value;
  return db_one(db,
                db_kind(db) == DB_POSTGRES ? "SELECT value FROM zipf_locks WHERE id = ? FOR SHARE"
                                           : "SELECT value FROM zipf_locks WHERE id = ? LOCK IN SHARE MODE",
                in(row), out(&value));
}

static enum db_result take_exclusive(struct db *db, int64_t row) {
  int64_t value;
  return db_one(db, "SELECT value FROM zipf_locks WHERE id = ? FOR UPDATE", in(row), out(&value));
}

static enum db_result change(struct db *db, int64_t row) {
  TRY(db_execute(db, "UPDATE zipf_locks SET value = value + 1 WHERE id = ?", in(row)));
  return db_changed(db) == 1 ? DB_OK : DB_NO_ROW;
}

static enum db_result run(struct client *client, const struct inputs *inputs,
                          enum db_result (*exclusive)(struct db *db, int64_t row)) {
  TRY(db_begin_as(client->db, client->type));
  for (int i = 0; i < STATEMENTS; i++) {
    TRY((inputs->statements[i].exclusive ? exclusive : take_shared)(client->db, inputs->statements[i].row));
  }
  return db_commit(client->db);
}

static enum db_result update(struct client *client, void *arguments, enum outcome *outcome) {
  (void)outcome;
  return run(client, arguments, change);
}

static enum db_result lock(struct client *client, void *arguments, enum outcome *outcome) {
  (void)outcome;
  return run(client, arguments, take_exclusive);
}

static const struct transaction_type types[] = {
    {.name = TYPE_NAME(update), .weight = 1, .arguments_size = sizeof(struct inputs), .choose = choose, .run = update},
    {.name = TYPE_NAME(lock), .weight = 0, .arguments_size = sizeof(struct inputs), .choose = choose, .run = lock},
};

static enum db_result create(struct db *db, const struct load_options *options) {
  static const char *const statements[] = {
      "DROP TABLE IF EXISTS zipf_locks",
      "CREATE TABLE zipf_locks (id int PRIMARY KEY, value bigint NOT NULL)",
  };
  char id[24];
  const char *const row[] = {id, "0"};
  TRY(tables_run(db, statements, sizeof statements / sizeof *statements));
  struct db_bulk *bulk = db_bulk_begin(db, "zipf_locks", "id, value", 2);
  if (!bulk) return DB_FAILED;
  for (int64_t number = 0; number < row_count(options); number++) {
    snprintf(id, sizeof id, "%lld", (long long)number);
    if (db_bulk_row(bulk, row) != DB_OK) break; /* db_bulk_end says why */
  }
  TRY(db_bulk_end(bulk));
  return tables_analyze(db, "zipf_locks");
}

static int setup(const struct load_options *options) {
  struct db *db = tables_open(options);
  return db ? tables_close(db, create(db, options)) : -1;
}

static int begin(const struct load_options *options) {
  return tables_expect(options, "zipf_locks", "SELECT count(*) FROM zipf_locks", row_count(options));
}

static int begin_client(struct client *client) {
  struct zipf *zipf = client->own = allocate(1, sizeof *zipf);
  zipf_init(zipf, row_count(client->options), client->options->theta);
  return 0;
}

static void end_client(struct client *client) {
  free(client->own);
}

static int check(const struct load_options *options) {
  const int64_t rows = row_count(options);
  const struct condition conditions[] = {
      {"no row is lost", "SELECT count(*) FROM zipf_locks", rows, rows},
      {"rows are those of setup", "SELECT max(id) - min(id) FROM zipf_locks", rows - 1, rows - 1},
  };
  return tables_check(options, conditions, sizeof conditions / sizeof *conditions);
}

const struct workload zipf_locks_workload = {
    .name = "zipf_locks",
    .summary = "transactions of five row locks by Zipf's law, --writes of them exclusive",
    .types = types,
    .type_count = sizeof types / sizeof *types,
    .theta = 0.8,
    .writes = 0.6,
    .scale = 20,
    .setup = setup,
    .begin = begin,
    .begin_client = begin_client,
    .end_client = end_client,
    .check = check,
};
