/* TPC-C's sizes, and what its files have of each other. README.md says which file does what. */
#ifndef VPROF_TPCC_H
#define VPROF_TPCC_H

#include "workload.h"

enum {
  TPCC_ITEMS = 100000,
  TPCC_DISTRICTS = 10,   /* of a warehouse */
  TPCC_CUSTOMERS = 3000, /* of a district */
  TPCC_ORDERS = 3000,    /* of a district, at first */
  TPCC_FIRST_NEW_ORDER = 2101,
  TPCC_MIN_LINES = 5, /* of an order */
  TPCC_MAX_LINES = 15,
};

/* Of workload.h. */
int tpcc_setup(const struct load_options *options); /* loader.c */
int tpcc_check(const struct load_options *options); /* check.c */

/* schema.c. The indexes are those beside the primary keys; they come after the rows. */
enum db_result tpcc_create_tables(struct db *db);
enum db_result tpcc_create_indexes(struct db *db);
enum db_result tpcc_analyze_tables(struct db *db);

#endif
