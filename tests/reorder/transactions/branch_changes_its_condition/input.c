/* A branch that changes what its condition reads stays whole. */
#include <libpq-fe.h>

int transaction(PGconn *conn, int good) {
  PQclear(PQexec(conn, "BEGIN"));
  if (good) {
    PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
    good = 0;
    PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 5 */
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
