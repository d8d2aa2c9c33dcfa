/* The payment transaction of the paper's Listing 1, with libpq. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int transaction(PGconn *conn, const char *w_id, const char *d_id, const char *c_name, const char *given_c_id) {
  char w_name[11], d_name[11], c_id[32], c_data[256];
  PGresult *result;

  PQclear(PQexec(conn, "BEGIN"));

  /* The warehouse. */
  const char *warehouse[] = {w_id};
  result = PQexecParams(conn, "SELECT w_name FROM warehouse WHERE w_id = $1", 1, NULL, warehouse, NULL, NULL, 0); /* index 500 */
  if (PQntuples(result) != 1) {
    PQclear(result);
    PQclear(PQexec(conn, "ROLLBACK"));
    return -1;
  }
  strcpy(w_name, PQgetvalue(result, 0, 0));
  PQclear(result);
  PQclear(PQexecParams(conn, "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = $1", 1, NULL, warehouse, NULL, NULL, 0)); /* index 510 */

  /* The district. */
  const char *district[] = {w_id, d_id};
  result = PQexecParams(conn, "SELECT d_name FROM district WHERE d_w_id = $1 AND d_id = $2", 2, NULL, district, NULL, NULL, 0); /* index 100 */
  strcpy(d_name, PQgetvalue(result, 0, 0));
  PQclear(result);
  PQclear(PQexecParams(conn, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = $1 AND d_id = $2", 2, NULL, district, NULL, NULL, 0)); /* index 110 */

  strcpy(c_id, given_c_id);
  if (strcmp(c_id, "0") == 0) {
    const char *name[] = {c_name};
    result = PQexecParams(conn, "SELECT c_id FROM customer WHERE c_last = $1", 1, NULL, name, NULL, NULL, 0); /* index 50 */
    strcpy(c_id, PQgetvalue(result, 0, 0));
    PQclear(result);
  }
  const char *customer[] = {c_id};
  result = PQexecParams(conn, "SELECT c_credit FROM customer WHERE c_id = $1", 1, NULL, customer, NULL, NULL, 0); /* index 50 */
  char credit = PQgetvalue(result, 0, 0)[0];
  PQclear(result);
  if (credit == 'G') {
    PQclear(PQexecParams(conn, "UPDATE customer SET c_balance = c_balance - 1 WHERE c_id = $1", 1, NULL, customer, NULL, NULL, 0)); /* index 60 */
  } else {
    snprintf(c_data, sizeof c_data, "... %s %s ...", w_id, c_id);
    const char *data[] = {c_data, c_id};
    PQclear(PQexecParams(conn, "UPDATE customer SET c_data = $1 WHERE c_id = $2", 2, NULL, data, NULL, NULL, 0)); /* index 60 */
  }
  const char *history[] = {w_name, d_name};
  PQclear(PQexecParams(conn, "INSERT INTO history (h_data) VALUES ($1 || $2)", 2, NULL, history, NULL, NULL, 0)); /* index 10 */

  PQclear(PQexec(conn, "COMMIT"));
  return 0;
}
