/* A check may be an expression. */
#include <libpq-fe.h>
#include <stdlib.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *result = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  PQntuples(result) > 0 ? (void)0 : exit(1);
  const char *values[] = {PQgetvalue(result, 0, 0)};
  PQclear(PQexecParams(conn, "UPDATE b SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 20 */
  PQclear(result);
  PQclear(PQexec(conn, "UPDATE c SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
