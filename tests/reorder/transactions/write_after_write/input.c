/* WAW: what others see last of a variable stays last. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int last;

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *first = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  last = atoi(PQgetvalue(first, 0, 0));
  PGresult *second = PQexec(conn, "SELECT x FROM b"); /* index 10 */
  last = atoi(PQgetvalue(second, 0, 0));
  PQclear(first);
  PQclear(second);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
