/* The fields of a union are the same memory. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

int transaction(PGconn *conn) {
  union {
    char text[20];
    long number;
  } both;
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *one = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  both.number = atol(PQgetvalue(one, 0, 0));
  PQclear(one);
  if (both.number < 0) {
    PQclear(PQexec(conn, "ROLLBACK"));
    return 1;
  }
  PGresult *other = PQexec(conn, "SELECT x FROM b"); /* index 10 */
  strcpy(both.text, PQgetvalue(other, 0, 0));
  PQclear(other);
  const char *values[] = {both.text};
  PQclear(PQexecParams(conn, "UPDATE c SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 20 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
