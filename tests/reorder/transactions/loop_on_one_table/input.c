/* Rounds of a loop that read a table which others change stay in order. */
#include <libpq-fe.h>

int transaction(PGconn *conn, int count) {
  PQclear(PQexec(conn, "BEGIN"));
  for (int i = 0; i < count; i++) {
    PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
    PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 5 */
    PQclear(PQexec(conn, "SELECT x FROM a")); /* index 20 */
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
