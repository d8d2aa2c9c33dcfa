/* What a check protects stays behind it. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *result = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  int rows = PQntuples(result);
  if (rows == 0) {
    PQclear(result);
    PQclear(PQexec(conn, "ROLLBACK"));
    return 1;
  }
  char text[20];
  strcpy(text, PQgetvalue(result, 0, 0));
  PQclear(result);
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  const char *values[] = {text};
  PQclear(PQexecParams(conn, "UPDATE c SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 5 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
