/* What a query leaves in its connection is asked for before the next one. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *one = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  int failed = PQresultStatus(one) != PGRES_COMMAND_OK;
  if (failed) fprintf(stderr, "%s", PQerrorMessage(conn));
  PQclear(one);
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
