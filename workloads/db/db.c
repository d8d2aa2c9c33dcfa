#include "db.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backend.h"

struct db *db_open(const struct db_address *address, char *error, size_t size) {
  struct db *db =
      address->kind == DB_POSTGRES ? db_open_postgres(address, error, size) : db_open_mariadb(address, error, size);
  if (!db && size) db_one_line(error);
  return db;
}

void db_close(struct db *db) {
  if (db) db->backend->close(db);
}

const char *db_error(const struct db *db) {
  return db->error;
}

enum db_kind db_kind(const struct db *db) {
  return db->kind;
}

const char *db_server_version(const struct db *db) {
  return db->version;
}

int64_t db_changed(const struct db *db) {
  return db->changed;
}

void db_one_line(char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)text[i] < ' ' || text[i] == 127) text[i] = ' ';
  }
  while (length && text[length - 1] == ' ') text[--length] = 0;
}

enum db_result db_fail(struct db *db, enum db_result result, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(db->error, sizeof db->error, format, arguments);
  va_end(arguments);
  db_one_line(db->error);
  return result;
}

void db_interrupt(struct db *db) {
  const int descriptor = db->backend->descriptor(db);
  if (descriptor >= 0) shutdown(descriptor, SHUT_RDWR);
}

static void finish(struct db *db) {
  if (db->open) db->backend->finish(db);
  db->open = NULL;
}

enum db_result db_run(struct db *db, const char *sql) {
  finish(db);
  return db->backend->run(db, sql);
}

enum db_result db_begin(struct db *db) {
  return db_run(db, "BEGIN");
}

enum db_result db_begin_as(struct db *db, const char *type) {
  char sql[100];
  snprintf(sql, sizeof sql, "/* %s */ BEGIN", type);
  return db_run(db, sql);
}

enum db_result db_commit(struct db *db) {
  return db_run(db, "COMMIT");
}

enum db_result db_rollback(struct db *db) {
  return db_run(db, "ROLLBACK");
}

enum db_result db_set_isolation(struct db *db, const char *level) {
  static const char *const levels[] = {"read uncommitted", "read committed", "repeatable read", "serializable"};
  for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
    if (strcmp(level, levels[i])) continue;
    char sql[100];
    snprintf(sql, sizeof sql, "SET SESSION %s ISOLATION LEVEL %s",
             db->kind == DB_POSTGRES ? "CHARACTERISTICS AS TRANSACTION" : "TRANSACTION", level);
    return db_run(db, sql);
  }
  return db_fail(db, DB_FAILED, "'%s' is no isolation level", level);
}

static bool is_output(const struct db_value *value) {
  return value->kind == DB_OUT_INT || value->kind == DB_OUT_DOUBLE || value->kind == DB_OUT_TEXT;
}

/* Inputs into `inputs`, outputs into db->outputs, from where they are filled although the caller's array has gone.
 * Returns how many inputs; -1: too many values. */
static int sort_values(struct db *db, const struct db_value *values, struct db_value *inputs) {
  size_t input_count = 0;
  db->output_count = 0;
  for (; values->kind != DB_END; values++) {
    if (input_count == DB_MAX_VALUES || db->output_count == DB_MAX_VALUES) return -1;
    if (is_output(values)) {
      db->outputs[db->output_count++] = *values;
    } else {
      inputs[input_count++] = *values;
    }
  }
  return (int)input_count;
}

static enum db_result prepare(struct db *db, const char *sql, struct statement **found) {
  struct statement *statement = statements_find(&db->statements, sql);
  if (!statement) return db_fail(db, DB_FAILED, "not a literal, its text has changed: %.200s", sql);
  *found = statement;
  return statement->prepared ? DB_OK : db->backend->prepare(db, statement);
}

static enum db_result start(struct db *db, const char *sql, const struct db_value *values) {
  struct db_value inputs[DB_MAX_VALUES];
  struct statement *statement;
  finish(db);
  const int input_count = sort_values(db, values, inputs);
  if (input_count < 0) return db_fail(db, DB_FAILED, "more than %d values: %.200s", DB_MAX_VALUES, sql);
  TRY(prepare(db, sql, &statement));
  if ((size_t)input_count != statement->input_count) {
    return db_fail(db, DB_FAILED, "%d inputs for %zu question marks: %.200s", input_count, statement->input_count, sql);
  }
  TRY(db->backend->execute(db, statement, inputs));
  db->open = statement;
  return DB_OK;
}

enum db_result db_execute_values(struct db *db, const char *sql, const struct db_value *values) {
  const enum db_result result = start(db, sql, values);
  finish(db);
  return result;
}

enum db_result db_one_values(struct db *db, const char *sql, const struct db_value *values) {
  TRY(start(db, sql, values));
  const enum db_result result = db->backend->fetch(db);
  finish(db);
  return result;
}

enum db_result db_query_values(struct db *db, const char *sql, const struct db_value *values) {
  return db->ended = start(db, sql, values);
}

bool db_next(struct db *db) {
  if (!db->open) return false;
  db->ended = db->backend->fetch(db);
  if (db->ended == DB_OK) return true;
  if (db->ended == DB_NO_ROW) db->ended = DB_OK;
  finish(db);
  return false;
}

enum db_result db_ended(struct db *db) {
  return db->ended;
}

struct db_bulk *db_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count) {
  finish(db);
  return db->backend->bulk_begin(db, table, columns, column_count);
}

enum db_result db_bulk_row(struct db_bulk *bulk, const char *const *values) {
  if (bulk->result == DB_OK) bulk->result = bulk->row(bulk, values);
  return bulk->result;
}

enum db_result db_bulk_end(struct db_bulk *bulk) {
  const enum db_result result = bulk->end(bulk);
  text_free(&bulk->text);
  free(bulk);
  return result;
}
