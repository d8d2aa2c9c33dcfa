/* What workloads need to set up and check their tables: a connection of their own, and errors said in one line. */
#ifndef VPROF_LOAD_TABLES_H
#define VPROF_LOAD_TABLES_H

#include "workload.h"

/* NULL: the reason is on stderr. */
struct db *tables_open(const struct load_options *options);
/* Says db_error if `result` is not DB_OK. Returns 0, or -1 then. */
int tables_close(struct db *db, enum db_result result);
/* All of them, or until one fails. */
enum db_result tables_run(struct db *db, const char *const *statements, size_t count);
/* What the planner has to know about new rows. */
enum db_result tables_analyze(struct db *db, const char *table);
/* The database is one that `setup` made, if `sql` gives this number. Returns 0, or -1 and the reason is on stderr. */
int tables_expect(const struct load_options *options, const char *workload, const char *sql, int64_t expected);

/* A condition that holds if `sql` gives a number of low .. high. */
struct condition {
  const char *name;
  const char *sql;
  int64_t low, high;
};

/* Prints a line for each. Returns how many failed; -1: one could not be checked. */
int tables_check(const struct load_options *options, const struct condition *conditions, size_t count);

#endif
