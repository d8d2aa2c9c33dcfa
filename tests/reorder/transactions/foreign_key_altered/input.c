/* Foreign keys as pg_dump writes them; what cascades changes the child. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "DELETE FROM parent WHERE id = 1")); /* index 30 */
  PQclear(PQexec(conn, "SELECT id FROM child")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
