/* Two statements of one table stay in order, two readers of one need not. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  PQclear(PQexec(conn, "SELECT x FROM a")); /* index 10 */
  PQclear(PQexec(conn, "SELECT x FROM b")); /* index 25 */
  PQclear(PQexec(conn, "SELECT y FROM b")); /* index 5 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
