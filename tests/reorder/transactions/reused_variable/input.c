/* A variable that each query uses for itself ties none to the other. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *result;
  result = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fprintf(stderr, "%s", PQresultErrorMessage(result));
  PQclear(result);
  result = PQexec(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  PQclear(result);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
