/* Where a transaction may be undone and the function goes on, nothing moves. */
#include <libpq-fe.h>

int transaction(PGconn *conn, int stop) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  if (stop) PQclear(PQexec(conn, "ROLLBACK"));
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
