/* What ends the process undoes the transaction. */
#include <libpq-fe.h>
#include <stdlib.h>

int transaction(PGconn *conn) {
  PGresult *result;
  PQclear(PQexec(conn, "BEGIN"));
  result = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  if (PQresultStatus(result) != PGRES_COMMAND_OK) exit(1);
  PQclear(result);
  result = PQexec(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  if (PQresultStatus(result) != PGRES_COMMAND_OK) exit(1);
  PQclear(result);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
