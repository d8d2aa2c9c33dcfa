/* Two pieces use one variable, each for itself: under another name, the second one is free. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

static int number(PGconn *conn, const char *sql) {
  PGresult *result = PQexec(conn, sql);
  const int found = atoi(PQgetvalue(result, 0, 0));
  PQclear(result);
  return found;
}

static void change(PGconn *conn, const char *sql, int value) {
  char text[20];
  const char *values[] = {text};
  snprintf(text, sizeof text, "%d", value);
  PQclear(PQexecParams(conn, sql, 1, NULL, values, NULL, NULL, 0));
}

int transaction(PGconn *conn) {
  int y = 3, x;
  PQclear(PQexec(conn, "BEGIN"));
  x = number(conn, "SELECT x FROM a"); /* index 90 */
  change(conn, "UPDATE b SET x = $1", x + y); /* index 80 */
  x = number(conn, "SELECT x FROM c"); /* index 5 */
  change(conn, "UPDATE d SET x = $1", x); /* index 4 */
  PQclear(PQexec(conn, "COMMIT"));
  return y;
}
