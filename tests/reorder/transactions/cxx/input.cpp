/* In C++, objects whose end runs code stay where they are. */
#include <libpq-fe.h>

struct Guard {
  ~Guard();
};

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 20 */
  Guard guard;
  PQclear(PQexec(conn, "UPDATE c SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
