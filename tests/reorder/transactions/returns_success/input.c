/* What returns early with the last return's value is taken for a success, whatever the caller does with failures. */
#include <libpq-fe.h>

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "UPDATE a SET x = 1")); /* index 30 */
  PGresult *result = PQexec(conn, "SELECT x FROM b"); /* index 5 */
  if (PQntuples(result) == 0) return 0;
  PQclear(PQexec(conn, "UPDATE c SET x = 1")); /* index 1 */
  return 0;
}
