/* Statements of ODBC that are executed at once. */
typedef void *SQLHSTMT;
short SQLExecDirect(SQLHSTMT statement, const char *text, int length);
short SQLFetch(SQLHSTMT statement);
short SQLGetData(SQLHSTMT statement, int column, int type, void *value, long size, long *length);
short SQLCloseCursor(SQLHSTMT statement);

int transaction(SQLHSTMT statement) {
  char name[20];
  long length;
  SQLExecDirect(statement, "SELECT x FROM a", -3); /* index 30 */
  SQLFetch(statement);
  SQLGetData(statement, 1, 1, name, sizeof name, &length);
  SQLCloseCursor(statement);
  SQLExecDirect(statement, "UPDATE b SET x = x + 1", -3); /* index 10 */
  return name[0];
}
