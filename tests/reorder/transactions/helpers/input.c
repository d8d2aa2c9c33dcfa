/* Functions of the same file do what they do, with the queries that they send. */
#include <libpq-fe.h>
#include <stdlib.h>

static int run(PGconn *conn, const char *sql) {
  PGresult *result = PQexec(conn, sql);
  int done = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return done;
}

static int undo(PGconn *conn) {
  PQclear(PQexec(conn, "ROLLBACK"));
  return -1;
}

static int count(PGconn *conn) {
  PGresult *result = PQexec(conn, "SELECT count(*) FROM log");
  int count = atoi(PQgetvalue(result, 0, 0));
  PQclear(result);
  return count;
}

int transaction(PGconn *conn) {
  run(conn, "BEGIN");
  if (!run(conn, "UPDATE a SET x = x + 1")) return undo(conn); /* index 30 */
  int x = count(conn); /* index 20 */
  run(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  run(conn, "UPDATE log SET x = 0"); /* index 5 */
  run(conn, "COMMIT");
  return x;
}
