/* MariaDB and MySQL by libmariadb: prepared statements in the binary protocol; rows are read as they come. */
#include "db_mariadb.h"

#include <errmsg.h>
#include <mysqld_error.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static enum db_result class_of(unsigned int number) {
  switch (number) {
    case ER_LOCK_DEADLOCK:
    case ER_LOCK_WAIT_TIMEOUT: /* only the statement was undone: the caller rolls back */
    case ER_CHECKREAD:
      return DB_RETRY;
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case ER_SERVER_SHUTDOWN:
    case ER_CONNECTION_KILLED:
      return DB_LOST;
    default:
      return DB_FAILED;
  }
}

enum db_result mariadb_fail(struct mariadb *mariadb, unsigned int number, const char *message, const char *sql) {
  return db_fail(&mariadb->db, class_of(number), "%s (%u): %.100s", message, number, sql);
}

static enum db_result fail(struct mariadb *mariadb, const char *sql) {
  return mariadb_fail(mariadb, mysql_errno(mariadb->connection), mysql_error(mariadb->connection), sql);
}

static enum db_result fail_statement(struct mariadb *mariadb, const struct statement *statement) {
  MYSQL_STMT *prepared = statement->prepared;
  return mariadb_fail(mariadb, mysql_stmt_errno(prepared), mysql_stmt_error(prepared), statement->sql);
}

static enum db_result prepare(struct db *db, struct statement *statement) {
  struct mariadb *mariadb = (struct mariadb *)db;
  MYSQL_STMT *prepared = mysql_stmt_init(mariadb->connection);
  if (!prepared) return fail(mariadb, statement->sql);
  if (mysql_stmt_prepare(prepared, statement->sql, strlen(statement->sql))) {
    const enum db_result class =
        mariadb_fail(mariadb, mysql_stmt_errno(prepared), mysql_stmt_error(prepared), statement->sql);
    mysql_stmt_close(prepared);
    return class;
  }
  statement->prepared = prepared;
  return DB_OK;
}

static void bind_input(MYSQL_BIND *bind, const struct db_value *input) {
  *bind = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_NULL};
  if (input->kind == DB_IN_INT) {
    bind->buffer_type = MYSQL_TYPE_LONGLONG;
    bind->buffer = (void *)&input->integer;
  } else if (input->kind == DB_IN_DOUBLE) {
    bind->buffer_type = MYSQL_TYPE_DOUBLE;
    bind->buffer = (void *)&input->real;
  } else if (input->kind == DB_IN_TEXT) {
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = (void *)input->text;
    bind->buffer_length = strlen(input->text);
  }
}

static void bind_output(MYSQL_BIND *bind, const struct db_value *output) {
  if (output->kind == DB_OUT_INT) {
    bind->buffer_type = MYSQL_TYPE_LONGLONG;
    bind->buffer = output->integer_out;
    bind->buffer_length = sizeof *output->integer_out;
  } else if (output->kind == DB_OUT_DOUBLE) {
    bind->buffer_type = MYSQL_TYPE_DOUBLE;
    bind->buffer = output->real_out;
    bind->buffer_length = sizeof *output->real_out;
  } else {
    bind->buffer_type = MYSQL_TYPE_STRING;
    bind->buffer = output->text_out;
    bind->buffer_length = output->size - 1; /* the last byte is for the 0 */
  }
}

static enum db_result bind_outputs(struct mariadb *mariadb, struct statement *statement) {
  struct db *db = &mariadb->db;
  const unsigned int columns = mysql_stmt_field_count(statement->prepared);
  if (db->output_count == 0) return DB_OK;
  if (columns != db->output_count) {
    return db_fail(db, DB_FAILED, "%zu outputs for %u columns: %.200s", db->output_count, columns, statement->sql);
  }
  for (size_t i = 0; i < db->output_count; i++) {
    mariadb->outputs[i] = (MYSQL_BIND){.length = &mariadb->lengths[i], .is_null = &mariadb->nulls[i]};
    bind_output(&mariadb->outputs[i], &db->outputs[i]);
  }
  return mysql_stmt_bind_result(statement->prepared, mariadb->outputs) ? fail_statement(mariadb, statement) : DB_OK;
}

static enum db_result execute(struct db *db, struct statement *statement, const struct db_value *inputs) {
  struct mariadb *mariadb = (struct mariadb *)db;
  MYSQL_STMT *prepared = statement->prepared;
  for (size_t i = 0; i < statement->input_count; i++) bind_input(&mariadb->inputs[i], &inputs[i]);
  if (statement->input_count && mysql_stmt_bind_param(prepared, mariadb->inputs)) {
    return fail_statement(mariadb, statement);
  }
  if (mysql_stmt_execute(prepared)) return fail_statement(mariadb, statement);
  const enum db_result bound = bind_outputs(mariadb, statement);
  if (bound != DB_OK) {
    mysql_stmt_free_result(prepared);
    return bound;
  }
  db->changed = (int64_t)mysql_stmt_affected_rows(prepared);
  return DB_OK;
}

/* NULL as 0, 0.0 and ""; the 0 at a text's end. */
static void complete_output(const struct mariadb *mariadb, size_t index) {
  const struct db_value *output = &mariadb->db.outputs[index];
  const bool null = mariadb->nulls[index];
  if (output->kind == DB_OUT_TEXT) {
    const unsigned long length = null ? 0 : mariadb->lengths[index];
    output->text_out[length < output->size - 1 ? length : output->size - 1] = 0;
  } else if (null && output->kind == DB_OUT_INT) {
    *output->integer_out = 0;
  } else if (null) {
    *output->real_out = 0;
  }
}

static enum db_result fetch(struct db *db) {
  struct mariadb *mariadb = (struct mariadb *)db;
  if (db->output_count == 0) return DB_NO_ROW;
  const int fetched = mysql_stmt_fetch(db->open->prepared);
  if (fetched == MYSQL_NO_DATA) return DB_NO_ROW;
  if (fetched != 0 && fetched != MYSQL_DATA_TRUNCATED) return fail_statement(mariadb, db->open);
  for (size_t i = 0; i < db->output_count; i++) complete_output(mariadb, i);
  return DB_OK;
}

static void finish(struct db *db) {
  if (mysql_stmt_field_count(db->open->prepared)) mysql_stmt_free_result(db->open->prepared);
}

static enum db_result run(struct db *db, const char *sql) {
  struct mariadb *mariadb = (struct mariadb *)db;
  if (mysql_real_query(mariadb->connection, sql, strlen(sql))) return fail(mariadb, sql);
  MYSQL_RES *rows = mysql_store_result(mariadb->connection);
  if (rows) {
    mysql_free_result(rows);
  } else if (mysql_errno(mariadb->connection)) {
    return fail(mariadb, sql);
  }
  return DB_OK;
}

static int descriptor(const struct db *db) {
  return (int)mysql_get_socket(((const struct mariadb *)db)->connection);
}

static void release(void *prepared) {
  mysql_stmt_close(prepared);
}

static void close_connection(struct db *db) {
  struct mariadb *mariadb = (struct mariadb *)db;
  statements_free(&db->statements, release);
  mysql_close(mariadb->connection);
  free(mariadb);
}

static const struct db_backend backend = {
    .prepare = prepare,
    .execute = execute,
    .fetch = fetch,
    .finish = finish,
    .run = run,
    .descriptor = descriptor,
    .close = close_connection,
    .bulk_begin = mariadb_bulk_begin,
};

static void init_library(void) {
  mysql_library_init(0, NULL, NULL);
}

static MYSQL *connect_to(const struct db_address *address, char *error, size_t size) {
  static pthread_once_t once = PTHREAD_ONCE_INIT; /* the library's own initialization is not thread-safe */
  const unsigned int timeout_s = 10;
  pthread_once(&once, init_library);
  MYSQL *connection = mysql_init(NULL);
  if (!connection) {
    snprintf(error, size, "out of memory");
    return NULL;
  }
  mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &timeout_s);
  mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  if (!mysql_real_connect(connection, NULL, address->user, getenv("MYSQL_PWD"), address->database, 0, address->socket,
                          CLIENT_FOUND_ROWS)) {
    snprintf(error, size, "%s", mysql_error(connection));
    mysql_close(connection);
    return NULL;
  }
  return connection;
}

struct db *db_open_mariadb(const struct db_address *address, char *error, size_t size) {
  MYSQL *connection = connect_to(address, error, size);
  if (!connection) return NULL;
  struct mariadb *mariadb = allocate(1, sizeof *mariadb);
  mariadb->db.backend = &backend;
  mariadb->db.kind = DB_MYSQL;
  mariadb->connection = connection;
  const char *version = mysql_get_server_info(connection);
  snprintf(mariadb->db.version, sizeof mariadb->db.version, "%s %s", strstr(version, "MariaDB") ? "MariaDB" : "MySQL",
           version);
  return &mariadb->db;
}
