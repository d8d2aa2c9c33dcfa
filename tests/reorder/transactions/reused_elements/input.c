/* An array of inputs that is filled anew for each query. */
#include <libpq-fe.h>

int transaction(PGconn *conn, const char *one, const char *other) {
  PQclear(PQexec(conn, "BEGIN"));
  const char *values[2];
  values[0] = one;
  values[1] = other;
  PQclear(PQexecParams(conn, "UPDATE a SET x = $1 WHERE y = $2", 2, NULL, values, NULL, NULL, 0)); /* index 30 */
  values[0] = other;
  values[1] = one;
  PQclear(PQexecParams(conn, "UPDATE b SET x = $1 WHERE y = $2", 2, NULL, values, NULL, NULL, 0)); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
