/* RAW: a query needs what another one returned. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *first = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  const char *values[] = {PQgetvalue(first, 0, 0)};
  PQclear(PQexecParams(conn, "UPDATE b SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 10 */
  PQclear(first);
  PQclear(PQexec(conn, "UPDATE c SET x = 0")); /* index 5 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
