/* Calls that a table of the user describes. */
#include <libpq-fe.h>

void ask(PGconn *conn, const char *sql);

int transaction(PGconn *conn) {
  ask(conn, "UPDATE a SET x = x + 1"); /* index 30 */
  ask(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  return 0;
}
