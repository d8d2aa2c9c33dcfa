/* The fields of a structure are memory of their own. */
#include <libpq-fe.h>
#include <string.h>

struct names {
  char one[20], other[20];
};

int transaction(PGconn *conn) {
  struct names names;
  PQclear(PQexec(conn, "BEGIN"));
  PGresult *one = PQexec(conn, "SELECT x FROM a"); /* index 30 */
  strcpy(names.one, PQgetvalue(one, 0, 0));
  PQclear(one);
  PGresult *other = PQexec(conn, "SELECT x FROM b"); /* index 10 */
  strcpy(names.other, PQgetvalue(other, 0, 0));
  PQclear(other);
  const char *values[] = {names.other};
  PQclear(PQexecParams(conn, "UPDATE c SET x = $1", 1, NULL, values, NULL, NULL, 0)); /* index 20 */
  PQclear(PQexec(conn, "COMMIT"));
  return names.one[0];
}
