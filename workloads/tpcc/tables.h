/* The rows that the tables hold at first (clause 4.3.3.1). Each table is filled in a transaction of its own. */
#ifndef VPROF_TPCC_TABLES_H
#define VPROF_TPCC_TABLES_H

#include "filler.h"

enum db_result tpcc_fill_items(struct filler *filler);
/* What belongs to a warehouse, but for its row in the table of warehouses. */
enum db_result tpcc_fill_warehouse(struct filler *filler, int64_t warehouse);
/* Part of it: orders, their lines, and which of them are new. orders.c. */
enum db_result tpcc_fill_orders(struct filler *filler, int64_t warehouse);
/* The rows 1 .. count of the table of warehouses. */
enum db_result tpcc_fill_warehouse_rows(struct filler *filler, int64_t count);

#endif
