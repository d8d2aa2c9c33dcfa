/* A connection of libpq, for db_postgres.c and its COPY, db_postgres_bulk.c. */
#ifndef VPROF_DB_POSTGRES_H
#define VPROF_DB_POSTGRES_H

#include <libpq-fe.h>

#include "backend.h"

struct postgres {
  struct db db; /* first: a struct db is one of these */
  PGconn *connection;
  PGresult *result; /* of db.open */
  int row;          /* of it, the next to be fetched */
};

/* Frees `result`, which may be NULL. Returns the class of its error. */
enum db_result postgres_fail(struct postgres *postgres, PGresult *result, const char *sql);
struct db_bulk *postgres_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count);

#endif
