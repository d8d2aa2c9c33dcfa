/* What is printed stays in order, and between the checks that it stands between. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  puts("a");
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  puts("b");
  PGresult *one = PQexec(conn, "UPDATE c SET x = x + 1"); /* index 5 */
  if (PQresultStatus(one) != PGRES_COMMAND_OK) {
    PQclear(one);
    PQclear(PQexec(conn, "ROLLBACK"));
    return 1;
  }
  PQclear(one);
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
