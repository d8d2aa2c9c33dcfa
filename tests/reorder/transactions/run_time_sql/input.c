/* SQL that is put together at run time. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn, int number) {
  PQclear(PQexec(conn, "BEGIN"));
  PQclear(PQexec(conn, "UPDATE a SET x = x + 1")); /* index 30 */
  char sql[100];
  snprintf(sql, sizeof sql, "UPDATE t%d SET x = 0", number);
  PQclear(PQexec(conn, sql)); /* index 20 */
  PQclear(PQexec(conn, "UPDATE b SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
