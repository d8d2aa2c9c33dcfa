/* A goto to where the transaction is undone, with what is freed there. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PGresult *result;
  PQclear(PQexec(conn, "BEGIN"));
  result = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  if (PQresultStatus(result) != PGRES_COMMAND_OK) goto failed;
  PQclear(result);
  result = PQexec(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  if (PQresultStatus(result) != PGRES_COMMAND_OK) goto failed;
  PQclear(result);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
failed:
  fprintf(stderr, "%s", PQerrorMessage(conn));
  PQclear(result);
  PQclear(PQexec(conn, "ROLLBACK"));
  return 1;
}
