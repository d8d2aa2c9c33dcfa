/* One connection to a server: PostgreSQL by libpq, MariaDB and MySQL by libmariadb. Not thread-safe.
 *
 * A statement is written where it is executed, with its inputs and outputs:
 *
 *   TRY(db_one(db, "SELECT w_tax FROM warehouse WHERE w_id = ?", in(w_id), out(&w_tax)));
 *
 * Its text is a literal: it is prepared at its first use on this connection and known by its address from then on;
 * another text at the same address is an error. `?` stands for an input, for PostgreSQL it becomes $1, $2, ... There
 * are as many outputs as the statement has columns, or none at all, and at most DB_MAX_VALUES inputs and as many
 * outputs.
 */
#ifndef VPROF_DB_H
#define VPROF_DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum db_kind { DB_POSTGRES, DB_MYSQL };
enum { DB_MAX_VALUES = 160 };

struct db_address {
  enum db_kind kind;
  const char *socket; /* PostgreSQL: the folder of its socket or the socket in it, or HOST:PORT; MySQL: the socket */
  const char *user;
  const char *database;
};

enum db_result {
  DB_OK = 0,
  DB_NO_ROW = 1, /* db_one found none */
  DB_RETRY = 2,  /* deadlock, serialization failure, lock timeout: rolled back; repeat all of the transaction */
  DB_FAILED = 3, /* db_error() says why */
  DB_LOST = 4,   /* there is no connection any more */
};

/* Leaves the transaction's function at anything but DB_OK. */
#define TRY(expression)                             \
  do {                                              \
    const enum db_result try_result = (expression); \
    if (try_result != DB_OK) return try_result;     \
  } while (0)

/* An input or an output of a statement. Text outputs are cut to fit, and end with 0. NULL of SQL: 0, 0.0, "". */
struct db_value {
  enum { DB_IN_INT, DB_IN_DOUBLE, DB_IN_TEXT, DB_IN_NULL, DB_OUT_INT, DB_OUT_DOUBLE, DB_OUT_TEXT, DB_END } kind;
  union {
    int64_t integer;
    double real;
    const char *text;
    int64_t *integer_out;
    double *real_out;
    char *text_out;
  };
  size_t size; /* of text_out */
};

static inline struct db_value in_int(int64_t value) {
  return (struct db_value){.kind = DB_IN_INT, .integer = value};
}
static inline struct db_value in_double(double value) {
  return (struct db_value){.kind = DB_IN_DOUBLE, .real = value};
}
static inline struct db_value in_text(const char *value) {
  return (struct db_value){.kind = value ? DB_IN_TEXT : DB_IN_NULL, .text = value};
}
static inline struct db_value out_int(int64_t *value) {
  return (struct db_value){.kind = DB_OUT_INT, .integer_out = value};
}
static inline struct db_value out_double(double *value) {
  return (struct db_value){.kind = DB_OUT_DOUBLE, .real_out = value};
}
#define in(value) \
  _Generic((value), char *: in_text, const char *: in_text, float: in_double, double: in_double, default: in_int)(value)
#define out(pointer) _Generic((pointer), double *: out_double, int64_t *: out_int)(pointer)
/* `array` is an array of char. */
#define out_text(array) ((struct db_value){.kind = DB_OUT_TEXT, .text_out = (array), .size = sizeof(array)})

/* NULL: `error` (of `size` bytes) says why. */
struct db *db_open(const struct db_address *address, char *error, size_t size);
void db_close(struct db *db);
const char *db_error(const struct db *db);
enum db_kind db_kind(const struct db *db);
/* Such as "PostgreSQL 15.8". Valid until db_close. */
const char *db_server_version(const struct db *db);

/* Ends what the connection is doing, from another thread: its call returns DB_LOST. The one call that may be made while
 * the connection is in use; it must not be closed meanwhile. */
void db_interrupt(struct db *db);

/* Statements without inputs, not prepared: DDL, SET. Rows are thrown away. */
enum db_result db_run(struct db *db, const char *sql);
/* Of the transactions that begin from now on: "read uncommitted", "read committed", "repeatable read", "serializable".
 */
enum db_result db_set_isolation(struct db *db, const char *level);
/* A transaction that has failed cannot be committed: DB_FAILED. Rolling back where there is none is no error. */
enum db_result db_begin(struct db *db);
/* With the type in a comment before BEGIN, where the server can read it (load_types.h). */
enum db_result db_begin_as(struct db *db, const char *type);
enum db_result db_commit(struct db *db);
enum db_result db_rollback(struct db *db);

/* Exactly one statement with values, the last of which is DB_END; use the macros. */
enum db_result db_execute_values(struct db *db, const char *sql, const struct db_value *values);
enum db_result db_one_values(struct db *db, const char *sql, const struct db_value *values);
enum db_result db_query_values(struct db *db, const char *sql, const struct db_value *values);
#define DB_VALUES(...) ((const struct db_value[]){__VA_ARGS__ __VA_OPT__(, ){.kind = DB_END}})
/* A change: INSERT, UPDATE, DELETE. db_changed() says how many rows. */
#define db_execute(db, sql, ...) db_execute_values(db, sql, DB_VALUES(__VA_ARGS__))
int64_t db_changed(const struct db *db);
/* The first row into the outputs; DB_NO_ROW if there is none. Further rows are left. */
#define db_one(db, sql, ...) db_one_values(db, sql, DB_VALUES(__VA_ARGS__))
/* Several rows, each fetched by db_next into the outputs given here. Whatever else is done on the connection before
 * db_next is false throws the remaining rows away. */
#define db_query(db, sql, ...) db_query_values(db, sql, DB_VALUES(__VA_ARGS__))
bool db_next(struct db *db);
/* How db_next ended: DB_OK if all rows were read. */
enum db_result db_ended(struct db *db);

/* Rows in bulk: COPY (PostgreSQL) or INSERTs of many rows (MySQL). Values as text, NULL for SQL's NULL. `table` and
 * `columns` ("a, b") are put into SQL as they are. Nothing else may be done on the connection before db_bulk_end, which
 * is due after an error too: it then returns that error. On MySQL each INSERT commits unless db_begin came before.
 * db_bulk_begin returns NULL if it fails: db_error(). */
struct db_bulk;
struct db_bulk *db_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count);
enum db_result db_bulk_row(struct db_bulk *bulk, const char *const *values);
enum db_result db_bulk_end(struct db_bulk *bulk); /* frees it */

#endif
