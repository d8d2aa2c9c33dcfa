/* SQL that a variable always holds is as good as a literal. */
#include <libpq-fe.h>

static const char other[] = "UPDATE b SET x = x + 1";

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  const char *sql = "UPDATE a SET x = x + 1";
  PQclear(PQexec(conn, sql)); /* index 30 */
  PQclear(PQexec(conn, other)); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
