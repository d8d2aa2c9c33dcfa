/* What a branch declares stays with those who use it. */
#include <libpq-fe.h>
#include <stdio.h>

int transaction(PGconn *conn, int good) {
  PQclear(PQexec(conn, "BEGIN"));
  if (good) {
    char text[20];
    snprintf(text, sizeof text, "%d", good);
    const char *values[] = {text};
    PQclear(PQexecParams(conn, "UPDATE a SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 30 */
    char more[20];
    snprintf(more, sizeof more, "%d", good + 1);
    const char *others[] = {more};
    PQclear(PQexecParams(conn, "UPDATE b SET x = $1", 1, NULL, others, NULL, NULL, 0)); /* index 5 */
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
