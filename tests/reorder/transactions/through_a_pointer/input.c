/* What is written through a pointer is what it may point to. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn, int choice) {
  PQclear(PQexec(conn, "BEGIN"));
  char one[20] = "1", other[20] = "2";
  char *either = choice ? one : other;
  const char *values[] = {one};
  PQclear(PQexecParams(conn, "UPDATE a SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 30 */
  PGresult *result = PQexec(conn, "SELECT x FROM b"); /* index 10 */
  strcpy(either, PQgetvalue(result, 0, 0));
  PQclear(result);
  PQclear(PQexecParams(conn, "UPDATE c SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 20 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
