/* Queries of libmariadb, whose results are fetched from the connection. */
#include <mysql.h>
#include <stdlib.h>

int transaction(MYSQL *conn) {
  mysql_query(conn, "START TRANSACTION");
  if (mysql_query(conn, "SELECT x FROM a WHERE y = 1 FOR UPDATE") != 0) { /* index 30 */
    mysql_rollback(conn);
    return 1;
  }
  MYSQL_RES *result = mysql_store_result(conn);
  MYSQL_ROW row = mysql_fetch_row(result);
  if (!row) {
    mysql_free_result(result);
    mysql_rollback(conn);
    return 1;
  }
  int x = atoi(row[0]);
  mysql_free_result(result);
  mysql_query(conn, "UPDATE b SET x = x + 1"); /* index 10 */
  if (mysql_affected_rows(conn) != 1) {
    mysql_rollback(conn);
    return 1;
  }
  mysql_commit(conn);
  return x;
}
