/* Consistency conditions 1 to 4 (clause 3.3.2): each a query for what breaks it. They hold whatever was committed, if
 * each transaction was isolated and came in once. */
#include <stdio.h>

#include "tables.h"
#include "tpcc.h"

/* The query returns the warehouse, the district (0: none) and the two sides, wherever they differ. */
struct equation {
  const char *name;
  const char *sides[2];
  const char *sql;
};

static const struct equation equations[] = {
    {"1: w_ytd = sum(d_ytd)",
     {"w_ytd", "sum(d_ytd)"},
     "SELECT w_id, 0, w_ytd, total FROM warehouse LEFT JOIN "
     "(SELECT d_w_id, SUM(d_ytd) AS total FROM district GROUP BY d_w_id) AS districts ON d_w_id = w_id "
     "WHERE total IS NULL OR w_ytd <> total ORDER BY w_id"},

    {"2: d_next_o_id - 1 = max(o_id)",
     {"d_next_o_id - 1", "max(o_id)"},
     "SELECT d_w_id, d_id, d_next_o_id - 1, last_order FROM district LEFT JOIN "
     "(SELECT o_w_id, o_d_id, MAX(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS placed "
     "ON o_w_id = d_w_id AND o_d_id = d_id "
     "WHERE last_order IS NULL OR last_order <> d_next_o_id - 1 ORDER BY d_w_id, d_id"},

    /* Once all orders of a district are delivered there is no max(no_o_id) to compare. */
    {"2: d_next_o_id - 1 = max(no_o_id)",
     {"d_next_o_id - 1", "max(no_o_id)"},
     "SELECT d_w_id, d_id, d_next_o_id - 1, last_order FROM district JOIN "
     "(SELECT no_w_id, no_d_id, MAX(no_o_id) AS last_order FROM new_order GROUP BY no_w_id, no_d_id) AS undelivered "
     "ON no_w_id = d_w_id AND no_d_id = d_id WHERE last_order <> d_next_o_id - 1 ORDER BY d_w_id, d_id"},

    {"3: max(no_o_id) - min(no_o_id) + 1 = count(new_order)",
     {"max(no_o_id) - min(no_o_id) + 1", "count(new_order)"},
     "SELECT no_w_id, no_d_id, MAX(no_o_id) - MIN(no_o_id) + 1, COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id "
     "HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*) ORDER BY no_w_id, no_d_id"},

    {"4: sum(o_ol_cnt) = count(order_line)",
     {"sum(o_ol_cnt)", "count(order_line)"},
     "SELECT d_w_id, d_id, wanted, present FROM district LEFT JOIN "
     "(SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS wanted FROM orders GROUP BY o_w_id, o_d_id) AS placed "
     "ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN "
     "(SELECT ol_w_id, ol_d_id, COUNT(*) AS present FROM order_line GROUP BY ol_w_id, ol_d_id) AS counted "
     "ON ol_w_id = d_w_id AND ol_d_id = d_id "
     "WHERE wanted IS NULL OR present IS NULL OR wanted <> present ORDER BY d_w_id, d_id"},
};
enum { EQUATION_COUNT = sizeof equations / sizeof *equations };

static void print_place(int64_t warehouse, int64_t district) {
  printf("warehouse %lld", (long long)warehouse);
  if (district) printf(", district %lld", (long long)district);
}

/* Prints whether it holds, and if not, where it first fails. */
static enum db_result check_equation(struct db *db, const struct equation *equation, int *failed) {
  int64_t warehouse, district;
  char left[64], right[64];
  const enum db_result found =
      db_one(db, equation->sql, out(&warehouse), out(&district), out_text(left), out_text(right));
  if (found == DB_NO_ROW) {
    printf("ok %s\n", equation->name);
    return DB_OK;
  }
  TRY(found);
  printf("FAILED %s, but in ", equation->name);
  print_place(warehouse, district);
  printf(" %s is %s, %s is %s\n", equation->sides[0], left, equation->sides[1], *right ? right : "nothing");
  ++*failed;
  return DB_OK;
}

/* All hold of tables without rows, which is what a setup that was interrupted leaves. */
static enum db_result expect_warehouses(struct db *db) {
  int64_t first;
  return db_one(db, "SELECT w_id FROM warehouse LIMIT 1", out(&first));
}

/* In one transaction, so that all see the same state even while a load changes it. */
static enum db_result check(struct db *db, int *failed) {
  TRY(db_set_isolation(db, "repeatable read"));
  TRY(db_begin(db));
  TRY(expect_warehouses(db));
  for (int i = 0; i < EQUATION_COUNT; i++) TRY(check_equation(db, &equations[i], failed));
  return db_commit(db);
}

int tpcc_check(const struct load_options *options) {
  int failed = 0;
  struct db *db = tables_open(options);
  if (!db) return -1;
  return tables_close(db, check(db, &failed)) == 0 ? failed : -1;
}
