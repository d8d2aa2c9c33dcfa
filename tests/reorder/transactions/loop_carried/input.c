/* A loop in which a round uses what another one left stays whole. */
#include <libpq-fe.h>
#include <string.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  char last[20] = "0";
  for (int i = 0; i < 10; i++) {
    const char *values[] = {last};
    PQclear(PQexecParams(conn, "UPDATE a SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 30 */
    PGresult *result = PQexec(conn, "SELECT x FROM b"); /* index 5 */
    strcpy(last, PQgetvalue(result, 0, 0));
    PQclear(result);
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
