/* Returns without ROLLBACK, but the caller undoes the transaction then; most of them a macro writes. */
#include <libpq-fe.h>

#define TRY(query)                                        \
  do {                                                    \
    const ExecStatusType status = PQresultStatus(query);  \
    if (status != PGRES_COMMAND_OK) return status;        \
  } while (0)

int transaction(PGconn *conn) {
  TRY(PQexec(conn, "BEGIN"));
  TRY(PQexec(conn, "UPDATE warehouse SET w_ytd = w_ytd + 1")); /* index 30 */
  TRY(PQexec(conn, "UPDATE district SET d_ytd = d_ytd + 1")); /* index 20 */
  PGresult *result = PQexec(conn, "SELECT c_id FROM customer"); /* index 5 */
  if (PQntuples(result) == 0) return -1;
  TRY(PQexec(conn, "INSERT INTO history VALUES (1)")); /* index 1 */
  TRY(PQexec(conn, "COMMIT"));
  return 0;
}
