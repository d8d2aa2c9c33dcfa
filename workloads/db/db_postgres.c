/* PostgreSQL by libpq: prepared statements in the extended protocol, values as text. */
#define _GNU_SOURCE
#include "db_postgres.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "memory.h"

enum { NUMBER_SIZE = 32 };

static enum db_result class_of(const PGconn *connection, const char *state) {
  static const char *const again[] = {"40001", "40P01", "55P03"};
  static const char *const gone[] = {"57P01", "57P02", "57P03"}; /* the server said so; the connection ends next */
  if (PQstatus(connection) != CONNECTION_OK) return DB_LOST;
  if (!state) return DB_FAILED;
  for (size_t i = 0; i < sizeof again / sizeof *again; i++) {
    if (strcmp(state, again[i]) == 0) return DB_RETRY;
  }
  for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
    if (strcmp(state, gone[i]) == 0) return DB_LOST;
  }
  return DB_FAILED;
}

enum db_result postgres_fail(struct postgres *postgres, PGresult *result, const char *sql) {
  const char *state = result ? PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
  const char *message = result ? PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
  const enum db_result class = class_of(postgres->connection, state);
  if (message) {
    db_fail(&postgres->db, class, "%s (%s): %.100s", message, state ? state : "no SQLSTATE", sql);
  } else {
    db_fail(&postgres->db, class, "%s", PQerrorMessage(postgres->connection));
  }
  PQclear(result);
  return class;
}

static bool succeeded(const PGresult *result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

static enum db_result prepare(struct db *db, struct statement *statement) {
  struct postgres *postgres = (struct postgres *)db;
  char name[32];
  struct db_text numbered = {0};
  snprintf(name, sizeof name, "v%zu", statement->number);
  text_append_numbered(&numbered, statement->sql);
  PGresult *result = PQprepare(postgres->connection, name, numbered.bytes, 0, NULL);
  text_free(&numbered);
  if (!succeeded(result)) return postgres_fail(postgres, result, statement->sql);
  PQclear(result);
  statement->prepared = copy_text(name);
  return DB_OK;
}

/* With as few digits as give the same number back: 0.1 for a numeric column is 0.1. */
static void write_double(char *text, double value) {
  snprintf(text, NUMBER_SIZE, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, NUMBER_SIZE, "%.17g", value);
}

static const char *input_text(const struct db_value *input, char *number) {
  switch (input->kind) {
    case DB_IN_INT:
      snprintf(number, NUMBER_SIZE, "%lld", (long long)input->integer);
      return number;
    case DB_IN_DOUBLE:
      write_double(number, input->real);
      return number;
    case DB_IN_TEXT:
      return input->text;
    default:
      return NULL;
  }
}

static enum db_result check_columns(struct db *db, const struct statement *statement, const PGresult *result) {
  const int columns = PQnfields(result);
  if (db->output_count == 0 || (size_t)columns == db->output_count) return DB_OK;
  return db_fail(db, DB_FAILED, "%zu outputs for %d columns: %.200s", db->output_count, columns, statement->sql);
}

static enum db_result execute(struct db *db, struct statement *statement, const struct db_value *inputs) {
  struct postgres *postgres = (struct postgres *)db;
  const char *texts[DB_MAX_VALUES];
  char numbers[DB_MAX_VALUES][NUMBER_SIZE];
  for (size_t i = 0; i < statement->input_count; i++) texts[i] = input_text(&inputs[i], numbers[i]);
  PGresult *result = PQexecPrepared(postgres->connection, statement->prepared, (int)statement->input_count, texts, NULL,
                                    NULL, /* text */ 0);
  if (!succeeded(result)) return postgres_fail(postgres, result, statement->sql);
  const enum db_result columns = check_columns(db, statement, result);
  if (columns != DB_OK) {
    PQclear(result);
    return columns;
  }
  db->changed = strtoll(PQcmdTuples(result), NULL, 10);
  postgres->result = result;
  postgres->row = 0;
  return DB_OK;
}

static int64_t parse_integer(const char *text) {
  return *text == 't' ? 1 : strtoll(text, NULL, 10); /* a boolean is t or f */
}

static void write_output(const struct db_value *output, const char *text) {
  if (output->kind == DB_OUT_INT) {
    *output->integer_out = parse_integer(text);
  } else if (output->kind == DB_OUT_DOUBLE) {
    *output->real_out = strtod(text, NULL);
  } else {
    snprintf(output->text_out, output->size, "%s", text);
  }
}

static enum db_result fetch(struct db *db) {
  struct postgres *postgres = (struct postgres *)db;
  if (postgres->row >= PQntuples(postgres->result)) return DB_NO_ROW;
  for (size_t i = 0; i < db->output_count; i++) {
    write_output(&db->outputs[i], PQgetvalue(postgres->result, postgres->row, (int)i)); /* NULL is "" */
  }
  postgres->row++;
  return DB_OK;
}

static void finish(struct db *db) {
  struct postgres *postgres = (struct postgres *)db;
  PQclear(postgres->result);
  postgres->result = NULL;
}

/* A COMMIT of a transaction that failed succeeds and says that it rolled back. */
static bool was_rolled_back(PGresult *result, const char *sql) {
  return strcmp(sql, "COMMIT") == 0 && strcmp(PQcmdStatus(result), "ROLLBACK") == 0;
}

static enum db_result run(struct db *db, const char *sql) {
  struct postgres *postgres = (struct postgres *)db;
  PGresult *result = PQexec(postgres->connection, sql);
  if (!succeeded(result)) return postgres_fail(postgres, result, sql);
  const bool undone = was_rolled_back(result, sql);
  PQclear(result);
  return undone ? db_fail(db, DB_FAILED, "the transaction had failed and was rolled back by its COMMIT") : DB_OK;
}

static int descriptor(const struct db *db) {
  return PQsocket(((const struct postgres *)db)->connection);
}

static void close_connection(struct db *db) {
  struct postgres *postgres = (struct postgres *)db;
  PQclear(postgres->result);
  PQfinish(postgres->connection);
  statements_free(&db->statements, free);
  free(postgres);
}

static const struct db_backend backend = {
    .prepare = prepare,
    .execute = execute,
    .fetch = fetch,
    .finish = finish,
    .run = run,
    .descriptor = descriptor,
    .close = close_connection,
    .bulk_begin = postgres_bulk_begin,
};

static void ignore_notice(void *argument, const char *message) {
  (void)argument;
  (void)message;
}

struct place {
  char host[256];
  const char *port; /* NULL: libpq's own */
};

/* A folder, a folder and the socket in it, or HOST:PORT. */
static struct place parse_socket(const char *socket) {
  static const char socket_name[] = "/.s.PGSQL.";
  struct place place = {0};
  snprintf(place.host, sizeof place.host, "%s", socket);
  char *end = strstr(place.host, socket_name);
  if (end) {
    place.port = socket + (end - place.host) + sizeof socket_name - 1;
  } else if (*socket != '/' && (end = strrchr(place.host, ':'))) {
    place.port = socket + (end - place.host) + 1;
  }
  if (place.port) *end = 0;
  return place;
}

static PGconn *connect_to(const struct db_address *address) {
  const struct place place = parse_socket(address->socket);
  const char *const names[] = {"host",
                               "port",
                               "user",
                               "dbname",
                               "sslmode",
                               "gssencmode",
                               "connect_timeout",
                               "application_name",
                               "client_encoding",
                               NULL};
  const char *const values[] = {place.host, place.port, address->user, address->database,
                                "disable",  "disable",  "10",          "vprof-load-driver",
                                "UTF8",     NULL};
  return PQconnectdbParams(names, values, 0);
}

struct db *db_open_postgres(const struct db_address *address, char *error, size_t size) {
  PGconn *connection = connect_to(address);
  if (PQstatus(connection) != CONNECTION_OK) {
    snprintf(error, size, "%s", PQerrorMessage(connection));
    PQfinish(connection);
    return NULL;
  }
  PQsetNoticeProcessor(connection, ignore_notice, NULL);
  struct postgres *postgres = allocate(1, sizeof *postgres);
  postgres->db.backend = &backend;
  postgres->db.kind = DB_POSTGRES;
  postgres->connection = connection;
  const char *version = PQparameterStatus(connection, "server_version");
  snprintf(postgres->db.version, sizeof postgres->db.version, "PostgreSQL %s", version ? version : "?");
  return &postgres->db;
}
