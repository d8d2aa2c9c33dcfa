/* The paper's Listing 3: a loop whose queries have nothing to do with each other becomes several. */
#include <libpq-fe.h>
#include <stdlib.h>

int transaction(PGconn *conn, int count) {
  PQclear(PQexec(conn, "BEGIN"));
  int found[count];
  for (int i = 0; i < count; i++) {
    PGresult *one = PQexec(conn, "SELECT x FROM a"); /* index 30 */
    const char *values[] = {PQgetvalue(one, 0, 0)};
    PQclear(PQexecParams(conn, "UPDATE a SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 35 */
    PQclear(one);
    PGresult *other = PQexec(conn, "SELECT x FROM b"); /* index 5 */
    found[i] = atoi(PQgetvalue(other, 0, 0));
    PQclear(other);
  }
  PQclear(PQexec(conn, "UPDATE d SET x = x + 1")); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return found[0];
}
