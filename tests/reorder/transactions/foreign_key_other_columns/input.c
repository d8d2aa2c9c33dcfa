/* A foreign key looks at its columns only. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE parent SET x = x + 1 WHERE id = 1")); /* index 30 */
  PQclear(PQexec(conn, "INSERT INTO child VALUES (1, 1)")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
