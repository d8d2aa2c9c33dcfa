/* Rows in bulk: COPY FROM STDIN, in its text format. */
#include <stdio.h>
#include <string.h>

#include "db_postgres.h"
#include "memory.h"

enum { CHUNK_BYTES = 64 * 1024 };

static struct postgres *postgres_of(struct db_bulk *bulk) {
  return (struct postgres *)bulk->db;
}

static void append_value(struct db_text *text, const char *value) {
  if (!value) {
    text_append(text, "\\N", 2);
    return;
  }
  for (;;) {
    const size_t plain = strcspn(value, "\\\n\r\t");
    text_append(text, value, plain);
    value += plain;
    if (!*value) return;
    const char escaped[] = {'\\', *value == '\n' ? 'n' : *value == '\r' ? 'r' : *value == '\t' ? 't' : '\\'};
    text_append(text, escaped, sizeof escaped);
    value++;
  }
}

static enum db_result send(struct db_bulk *bulk) {
  struct postgres *postgres = postgres_of(bulk);
  const int sent = PQputCopyData(postgres->connection, bulk->text.bytes, (int)bulk->text.length);
  bulk->text.length = 0;
  return sent == 1 ? DB_OK : postgres_fail(postgres, NULL, "COPY");
}

static enum db_result row(struct db_bulk *bulk, const char *const *values) {
  for (size_t i = 0; i < bulk->column_count; i++) {
    if (i) text_append(&bulk->text, "\t", 1);
    append_value(&bulk->text, values[i]);
  }
  text_append(&bulk->text, "\n", 1);
  return bulk->text.length < CHUNK_BYTES ? DB_OK : send(bulk);
}

/* Reads what the server said about the whole COPY. */
static enum db_result read_verdict(struct postgres *postgres) {
  enum db_result verdict = DB_OK;
  PGresult *result;
  while ((result = PQgetResult(postgres->connection))) {
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
      PQclear(result);
    } else {
      verdict = postgres_fail(postgres, result, "COPY");
    }
  }
  return verdict;
}

static enum db_result end(struct db_bulk *bulk) {
  struct postgres *postgres = postgres_of(bulk);
  if (bulk->result == DB_OK && bulk->text.length) bulk->result = send(bulk);
  const char *broken = bulk->result == DB_OK ? NULL : "the client gave up";
  if (PQputCopyEnd(postgres->connection, broken) != 1) return postgres_fail(postgres, NULL, "COPY");
  const enum db_result verdict = read_verdict(postgres);
  return bulk->result == DB_OK ? verdict : bulk->result;
}

struct db_bulk *postgres_bulk_begin(struct db *db, const char *table, const char *columns, size_t column_count) {
  struct postgres *postgres = (struct postgres *)db;
  char sql[2048];
  snprintf(sql, sizeof sql, "COPY %s (%s) FROM STDIN", table, columns);
  PGresult *result = PQexec(postgres->connection, sql);
  if (PQresultStatus(result) != PGRES_COPY_IN) {
    postgres_fail(postgres, result, sql);
    return NULL;
  }
  PQclear(result);
  struct db_bulk *bulk = allocate(1, sizeof *bulk);
  *bulk = (struct db_bulk){.db = db, .column_count = column_count, .row = row, .end = end};
  return bulk;
}
