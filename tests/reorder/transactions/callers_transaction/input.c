/* The caller begins and ends the transaction. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  return 0;
}
