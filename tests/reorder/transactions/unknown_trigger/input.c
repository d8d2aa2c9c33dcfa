/* A trigger whose code is not understood may change any table. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "INSERT INTO a VALUES (1)")); /* index 30 */
  PQclear(PQexec(conn, "SELECT x FROM log")); /* index 10 */
  PQclear(PQexec(conn, "UPDATE c SET x = 1")); /* index 5 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
