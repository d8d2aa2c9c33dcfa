/* The contended query of a branch goes behind what follows the branch. */
#include <libpq-fe.h>

int transaction(PGconn *conn, int good) {
  PQclear(PQexec(conn, "BEGIN"));
  if (good) {
    /* The first part. */
    PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
    PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 5 */
  } else {
    PQclear(PQexec(conn, "UPDATE c SET x = x + 1")); /* index 40 */
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
