/* A view is its tables. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  PQclear(PQexec(conn, "SELECT x FROM v")); /* index 10 */
  PQclear(PQexec(conn, "SELECT x FROM c")); /* index 5 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
