/* A transaction that is repeated until it succeeds: only what lies in the loop moves. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  for (int attempt = 0; attempt < 3; attempt++) {
    PQclear(PQexec(conn, "BEGIN"));
    PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
    PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
    PGresult *end = PQexec(conn, "COMMIT");
    int done = PQresultStatus(end) == PGRES_COMMAND_OK;
    PQclear(end);
    if (done) return 0;
  }
  return 1;
}
