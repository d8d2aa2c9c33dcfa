/* A statement that a macro writes moves as it is written. */
#include <libpq-fe.h>

#define RUN(sql) PQclear(PQexec(conn, sql))

int transaction(PGconn *conn) {
  PQclear(PQexec(conn, "BEGIN"));
  RUN("UPDATE a SET x = x + 1"); /* index 30 */
  RUN("UPDATE b SET x = x + 1"); /* index 10 */
  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
