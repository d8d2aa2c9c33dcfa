/* A branch within a loop is split first, then the loop. */
#include <libpq-fe.h>

int transaction(PGconn *conn, int count) {
  PQclear(PQexec(conn, "BEGIN"));
  for (int i = 0; i < count; i++) {
    if (i % 2) {
      PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
      PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 5 */
    }
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
