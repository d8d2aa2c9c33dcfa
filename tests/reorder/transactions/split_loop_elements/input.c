/* A loop is split between who writes an element and who reads it: each uses only that of its round. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  int found[10];
  char text[20];
  const char *values[] = {text};
  for (int i = 0; i < 10; i++) {
    PGresult *one = PQexec(conn, "SELECT x FROM a"); /* index 5 */
    found[i] = atoi(PQgetvalue(one, 0, 0));
    PQclear(one);
    snprintf(text, sizeof text, "%d", found[i]);
    PQclear(PQexecParams(conn, "UPDATE b SET x = x + $1", 1, NULL, values, NULL, NULL, 0)); /* index 30 */
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
