/* WAR: a variable is changed after a query has used it. */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <libpq-fe.h>

int transaction(PGconn *conn, int number) {
  PQclear(PQexec(conn, "BEGIN"));
  char text[20] = "1";
  const char *values[] = {text};
  PQclear(PQexecParams(conn, "UPDATE a SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 30 */
  snprintf(text, sizeof text, "%d", number);
  PQclear(PQexecParams(conn, "UPDATE b SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
