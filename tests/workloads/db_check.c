/* Walks through db.h against a real server: db_check postgres|mysql SOCKET USER DATABASE. Silent if all is well. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db.h"

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      fprintf(stderr, "%d: %s: %s\n", __LINE__, #condition, last ? db_error(last) : ""); \
      exit(1);                                                                           \
    }                                                                                    \
  } while (0)

static struct db_address address;
static struct db *last;

static struct db *open_one(void) {
  char error[300] = "";
  struct db *db = db_open(&address, error, sizeof error);
  if (!db) fprintf(stderr, "%s\n", error);
  if (!db) exit(1);
  return last = db;
}

static void check_values(struct db *db) {
  int64_t i = 5, big = 0;
  double d = 5;
  char text[8] = "before", stamp[40];
  CHECK(db_run(db, "DROP TABLE IF EXISTS db_check") == DB_OK);
  CHECK(db_run(db,
               "CREATE TABLE db_check (a int PRIMARY KEY, b bigint, c numeric(12,4), d double precision, "
               "t varchar(40), s timestamp NULL)") == DB_OK);
  CHECK(db_execute(db, "INSERT INTO db_check VALUES (?, ?, ?, ?, ?, ?)", in(1), in(INT64_MIN), in(0.1), in(1.0 / 3),
                   in("it's ? \\ \"x\""), in("2024-02-29 12:34:56")) == DB_OK);
  CHECK(db_changed(db) == 1);
  CHECK(db_execute(db, "INSERT INTO db_check VALUES (?, ?, ?, ?, ?, ?)", in(2), in_text(NULL), in_text(NULL),
                   in_text(NULL), in_text(NULL), in_text(NULL)) == DB_OK);
  CHECK(db_one(db, "SELECT b, c, d, t FROM db_check WHERE a = ?", in(1), out(&big), out(&d), out(&d), out_text(text)) ==
        DB_OK);
  CHECK(big == INT64_MIN && d == 1.0 / 3 && strcmp(text, "it's ? ") == 0);
  CHECK(db_one(db, "SELECT c, s FROM db_check WHERE a = ? AND t <> 'was it ?'", in(1), out(&d), out_text(stamp)) ==
        DB_OK);
  CHECK(d == 0.1 && strncmp(stamp, "2024-02-29 12:34:56", 19) == 0);
  CHECK(db_one(db, "SELECT b, d, t FROM db_check WHERE a = ?", in(2), out(&i), out(&d), out_text(text)) == DB_OK);
  CHECK(i == 0 && d == 0 && !*text);
  CHECK(db_one(db, "SELECT b FROM db_check WHERE a = ?", in(3), out(&i)) == DB_NO_ROW);
  CHECK(db_one(db, "SELECT count(*), sum(a), avg(a) FROM db_check", out(&i), out(&big), out(&d)) == DB_OK);
  CHECK(i == 2 && big == 3 && d == 1.5);
  CHECK(db_execute(db, "UPDATE db_check SET c = c + ?, t = ? WHERE a <= ?", in(1), in("same"), in(2)) == DB_OK);
  CHECK(db_changed(db) == 2);
  CHECK(db_execute(db, "UPDATE db_check SET t = ? WHERE a <= ?", in("same"), in(2)) == DB_OK);
  CHECK(db_changed(db) == 2); /* found, though nothing is another value */
  CHECK(db_execute(db, "SELECT a FROM db_check FOR UPDATE") == DB_OK);
}

static void check_errors(struct db *db) {
  int64_t i;
  CHECK(db_execute(db, "INSERT INTO db_check (a) VALUES (?)", in(1)) == DB_FAILED && *db_error(db));
  CHECK(!strchr(db_error(db), '\n'));
  CHECK(db_rollback(db) == DB_OK);
  CHECK(db_one(db, "SELECT nothing FROM nowhere WHERE a = ?", in(1), out(&i)) == DB_FAILED);
  CHECK(db_one(db, "SELECT a FROM db_check WHERE a = ?", out(&i)) == DB_FAILED);
  CHECK(db_one(db, "SELECT a, b FROM db_check WHERE a = ?", in(1), out(&i)) == DB_FAILED);
  char changing[] = "SELECT 1";
  CHECK(db_one(db, changing, out(&i)) == DB_OK);
  changing[7] = '2';
  CHECK(db_one(db, changing, out(&i)) == DB_FAILED);
  CHECK(db_run(db, "SELEC") == DB_FAILED && db_run(db, "SELECT 1") == DB_OK);
  CHECK(db_set_isolation(db, "snapshot") == DB_FAILED && db_set_isolation(db, "serializable") == DB_OK);
  CHECK(db_set_isolation(db, "read committed") == DB_OK);
}

static void check_transactions(struct db *db) {
  int64_t i;
  CHECK(db_begin(db) == DB_OK);
  CHECK(db_execute(db, "DELETE FROM db_check WHERE a = ?", in(2)) == DB_OK && db_changed(db) == 1);
  CHECK(db_rollback(db) == DB_OK);
  CHECK(db_begin(db) == DB_OK);
  CHECK(db_execute(db, "DELETE FROM db_check WHERE a = ?", in(2)) == DB_OK && db_changed(db) == 1);
  CHECK(db_commit(db) == DB_OK);
  CHECK(db_one(db, "SELECT count(*) FROM db_check", out(&i)) == DB_OK && i == 1);
  if (db_kind(db) == DB_POSTGRES) {
    CHECK(db_begin(db) == DB_OK && db_run(db, "SELEC") == DB_FAILED && db_commit(db) == DB_FAILED);
  }
}

static void check_rows(struct db *db) {
  char name[32], t[40];
  const char *row[3] = {name, "tab\there\\ 'q'\nline", NULL};
  int64_t a, n = 0;
  struct db_bulk *bulk = db_bulk_begin(db, "db_check", "a, t, b", 3);
  CHECK(bulk);
  for (int i = 10; i < 30010; i++) {
    snprintf(name, sizeof name, "%d", i);
    CHECK(db_bulk_row(bulk, row) == DB_OK);
  }
  CHECK(db_bulk_end(bulk) == DB_OK);
  CHECK(db_query(db, "SELECT a, t FROM db_check WHERE a >= ? ORDER BY a", in(10), out(&a), out_text(t)) == DB_OK);
  for (; db_next(db); n++) CHECK(a == n + 10 && strcmp(t, row[1]) == 0);
  CHECK(n == 30000 && db_ended(db) == DB_OK && !db_next(db));
  CHECK(db_query(db, "SELECT a, t FROM db_check WHERE a >= ? ORDER BY a", in(10), out(&a), out_text(t)) == DB_OK);
  CHECK(db_next(db) && db_next(db));
  CHECK(db_one(db, "SELECT count(*) FROM db_check", out(&n)) == DB_OK && n == 30001);
  CHECK(!db_next(db));
  bulk = db_bulk_begin(db, "db_check", "a", 1);
  const char *again[1] = {"10"};
  for (int i = 0; i < 3; i++) db_bulk_row(bulk, again);
  CHECK(db_bulk_end(bulk) == DB_FAILED && *db_error(db));
  CHECK(db_rollback(db) == DB_OK && db_one(db, "SELECT count(*) FROM db_check", out(&n)) == DB_OK && n == 30001);
  if (db_kind(db) == DB_POSTGRES) CHECK(!db_bulk_begin(db, "nowhere", "a", 1));
}

static void check_interrupt(void) {
  int64_t i;
  struct db *db = open_one();
  CHECK(db_one(db, "SELECT 1", out(&i)) == DB_OK);
  db_interrupt(db);
  CHECK(db_one(db, "SELECT 1", out(&i)) == DB_LOST);
  CHECK(db_rollback(db) == DB_LOST);
  db_close(db);
}

/* `ours` may not wait for `theirs` for long. */
static void check_retries(struct db *ours) {
  int64_t i;
  struct db *theirs = open_one();
  CHECK(db_begin(theirs) == DB_OK);
  CHECK(db_execute(theirs, "UPDATE db_check SET b = 1 WHERE a = ?", in(1)) == DB_OK);
  last = ours;
  CHECK(db_run(ours, db_kind(ours) == DB_POSTGRES ? "SET lock_timeout = 300" : "SET innodb_lock_wait_timeout = 1") ==
        DB_OK);
  for (int times = 0; times < 2; times++) {
    CHECK(db_begin(ours) == DB_OK);
    CHECK(db_execute(ours, "UPDATE db_check SET b = 2 WHERE a = ?", in(11)) == DB_OK);
    CHECK(db_one(ours, "SELECT a FROM db_check WHERE a = ? FOR UPDATE", in(1), out(&i)) == DB_RETRY);
    CHECK(db_rollback(ours) == DB_OK);
  }
  CHECK(db_commit(theirs) == DB_OK);
  CHECK(db_one(ours, "SELECT b FROM db_check WHERE a = ?", in(1), out(&i)) == DB_OK && i == 1);
  CHECK(db_one(ours, "SELECT coalesce(b, 0) FROM db_check WHERE a = ?", in(11), out(&i)) == DB_OK && i == 0);
  db_close(theirs);
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  address = (struct db_address){strcmp(argv[1], "mysql") ? DB_POSTGRES : DB_MYSQL, argv[2], argv[3], argv[4]};
  struct db *db = open_one();
  check_values(db);
  check_errors(db);
  check_transactions(db);
  check_rows(db);
  check_retries(db);
  check_interrupt();
  last = db;
  CHECK(db_run(db, "DROP TABLE db_check") == DB_OK);
  db_close(db);
}
