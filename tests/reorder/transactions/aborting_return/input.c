/* A return that undoes the transaction first holds nothing up. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *one = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  if (PQresultStatus(one) != PGRES_COMMAND_OK) {
    PQclear(one);
    PQclear(PQexec(conn, "ROLLBACK"));
    return 1;
  }
  PQclear(one);
  PGresult *other = PQexec(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  if (PQresultStatus(other) != PGRES_COMMAND_OK) {
    PQclear(other);
    PQclear(PQexec(conn, "ROLLBACK"));
    return 2;
  }
  PQclear(other);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
