/* What db.c needs of a client library, and what all connections have in common. Only for the files of this folder.
 *
 *   db.c (values, rows, transactions) -> statements.c (which are prepared) -> db_postgres.c | db_mariadb.c -> server
 */
#ifndef VPROF_DB_BACKEND_H
#define VPROF_DB_BACKEND_H

#include "db.h"
#include "statements.h"

/* Each function that fails has put the reason into db->error. */
struct db_backend {
  enum db_result (*prepare)(struct db *db, struct statement *statement);
  /* Outputs are in db->outputs. Afterwards rows can be fetched, until `finish`. Sets db->changed. */
  enum db_result (*execute)(struct db *db, struct statement *statement, const struct db_value *inputs);
  /* The next row into db->outputs. DB_NO_ROW: there is none. */
  enum db_result (*fetch)(struct db *db);
  /* Throws away the remaining rows. */
  void (*finish)(struct db *db);
  enum db_result (*run)(struct db *db, const char *sql);
  int (*descriptor)(const struct db *db);
  void (*close)(struct db *db); /* frees the struct */
  struct db_bulk *(*bulk_begin)(struct db *db, const char *table, const char *columns, size_t column_count);
};

struct db {
  const struct db_backend *backend;
  enum db_kind kind;
  int64_t changed;
  struct statement *open; /* whose rows are being read */
  enum db_result ended;
  struct db_value outputs[DB_MAX_VALUES];
  size_t output_count;
  struct statements statements;
  char version[128];
  char error[512];
};

/* A bulk begins with this; the rest is the client library's. */
struct db_bulk {
  struct db *db;
  size_t column_count;
  enum db_result result; /* the first that was not DB_OK */
  struct db_text text;   /* rows that are not sent yet */
  enum db_result (*row)(struct db_bulk *bulk, const char *const *values);
  enum db_result (*end)(struct db_bulk *bulk); /* frees what is beyond struct db_bulk */
};

struct db *db_open_postgres(const struct db_address *address, char *error, size_t size);
struct db *db_open_mariadb(const struct db_address *address, char *error, size_t size);

/* Puts the reason into db->error, in one line. Returns `result`. */
enum db_result db_fail(struct db *db, enum db_result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* In place: line ends and what else would break a line become spaces, none at the end. */
void db_one_line(char *text);

#endif
