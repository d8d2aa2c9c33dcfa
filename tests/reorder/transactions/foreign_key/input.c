/* A row must be there before another one names it. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "INSERT INTO parent VALUES (1, 2)")); /* index 30 */
  PQclear(PQexec(conn, "INSERT INTO child VALUES (1, 1)")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
