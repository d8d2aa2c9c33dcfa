/* Nothing passes a line of the preprocessor. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
#ifdef MORE
  PQclear(PQexec(conn, "UPDATE c SET x = x + 1"));
#endif
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
