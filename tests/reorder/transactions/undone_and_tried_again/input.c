/* What an attempt leaves in variables is seen by the next one: nothing passes the way there. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  int tried = 0;
  while (tried < 3) {
    PQclear(PQexec(conn, "BEGIN"));
    PGresult *result = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
      PQclear(result);
      PQclear(PQexec(conn, "ROLLBACK"));
      continue;
    }
    PQclear(result);
    tried = tried + 1;
    PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
    PQclear(PQexec(conn, "COMMIT"));
  }
  return tried;
}
