/* Rows in bulk: INSERTs of many rows each. */
#include <stdio.h>
#include <string.h>

#include "db_mariadb.h"
#include "memory.h"

enum { CHUNK_BYTES = 512 * 1024 }; /* below the smallest usual max_allowed_packet, 1 MB */

struct mariadb_bulk {
  struct db_bulk bulk; /* first: a struct db_bulk is one of these */
  char insert[2048];   /* with what each INSERT begins */
};

static enum db_result send(struct db_bulk *bulk) {
  struct mariadb *mariadb = (struct mariadb *)bulk->db;
  const int failed = mysql_real_query(mariadb->connection, bulk->text.bytes, bulk->text.length);
  bulk->text.length = 0;
  if (!failed) return DB_OK;
  return mariadb_fail(mariadb, mysql_errno(mariadb->connection), mysql_error(mariadb->connection),
                      ((struct mariadb_bulk *)bulk)->insert);
}

static void append_value(struct db_bulk *bulk, const char *value) {
  struct db_text *text = &bulk->text;
  if (!value) {
    text_append(text, "NULL", 4);
    return;
  }
  const size_t length = strlen(value);
  text_append(text, "'", 1);
  char *escaped = text_reserve(text, 2 * length + 1);
  text->length += mysql_real_escape_string(((struct mariadb *)bulk->db)->connection, escaped, value, length);
  text_append(text, "'", 1);
}

static enum db_result row(struct db_bulk *bulk, const char *const *values) {
  const char *insert = ((struct mariadb_bulk *)bulk)->insert;
  if (bulk->text.length) {
    text_append(&bulk->text, ",(", 2);
  } else {
    text_append(&bulk->text, insert, strlen(insert));
    text_append(&bulk->text, "(", 1);
  }
  for (size_t i = 0; i < bulk->column_count; i++) {
    if (i) text_append(&bulk->text, ",", 1);
    append_value(bulk, values[i]);
  }
  text_append(&bulk->text, ")", 1);
  return bulk->text.length < CHUNK_BYTES ? DB_OK : send(bulk);
}

static enum db_result end(struct db_bulk *bulk) {
  if (bulk->result == DB_OK && bulk->text.length) bulk->result = send(bulk);
  return bulk->result;
}

struct db_bulk *mariadb_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count) {
  struct mariadb_bulk *bulk = allocate(1, sizeof *bulk);
  bulk->bulk = (struct db_bulk){.db = db, .column_count = column_count, .row = row, .end = end};
  snprintf(bulk->insert, sizeof bulk->insert, "INSERT INTO %s (%s) VALUES ", table, columns);
  return &bulk->bulk;
}
