/* A function of the same file that changes a variable of the file stays where it is. */
#include <libpq-fe.h>

static int noted;

static void note(void) { noted++; }

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  note();
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
