/* A return that leaves the transaction open: nothing may pass it. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *one = PQexec(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  if (PQresultStatus(one) != PGRES_COMMAND_OK) return 1;
  PQclear(one);
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
