/* A connection of libmariadb, for db_mariadb.c and its INSERTs, db_mariadb_bulk.c. */
#ifndef VPROF_DB_MARIADB_H
#define VPROF_DB_MARIADB_H

#include <mysql.h>

#include "backend.h"

struct mariadb {
  struct db db; /* first: a struct db is one of these */
  MYSQL *connection;
  MYSQL_BIND inputs[DB_MAX_VALUES];
  MYSQL_BIND outputs[DB_MAX_VALUES];
  unsigned long lengths[DB_MAX_VALUES]; /* of outputs */
  my_bool nulls[DB_MAX_VALUES];
};

/* The class of the error with this number. */
enum db_result mariadb_fail(struct mariadb *mariadb, unsigned int number, const char *message, const char *sql);
struct db_bulk *mariadb_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count);

#endif
