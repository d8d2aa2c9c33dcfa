/* TPC-C as a workload of the driver: its types with their mix (clause 5.2.3), and what a run needs to find. */
#include "tables.h"
#include "transactions.h"

/* Payment has at least 43 %, the last three at least 4 % each; New-Order has the rest. */
static const struct transaction_type types[] = {
    {.name = TYPE_NAME(new_order),
     .weight = 45,
     .arguments_size = sizeof(struct new_order),
     .choose = tpcc_choose_new_order,
     .run = tpcc_new_order},
    {.name = TYPE_NAME(payment),
     .weight = 43,
     .arguments_size = sizeof(struct payment),
     .choose = tpcc_choose_payment,
     .run = tpcc_payment},
    {.name = TYPE_NAME(order_status),
     .weight = 4,
     .arguments_size = sizeof(struct order_status),
     .choose = tpcc_choose_order_status,
     .run = tpcc_order_status},
    {.name = TYPE_NAME(delivery),
     .weight = 4,
     .arguments_size = sizeof(struct delivery),
     .choose = tpcc_choose_delivery,
     .run = tpcc_delivery},
    {.name = TYPE_NAME(stock_level),
     .weight = 4,
     .arguments_size = sizeof(struct stock_level),
     .choose = tpcc_choose_stock_level,
     .run = tpcc_stock_level},
};

/* The rows of warehouses are the last that setup makes: if they are there, so is everything. */
static int begin(const struct load_options *options) {
  return tables_expect(options, "tpcc", "SELECT COUNT(*) FROM warehouse", options->scale);
}

const struct workload tpcc_workload = {
    .name = "tpcc",
    .summary = "TPC-C: orders, payments and deliveries of a wholesale supplier",
    .types = types,
    .type_count = sizeof types / sizeof *types,
    .setup = tpcc_setup,
    .begin = begin,
    .check = tpcc_check,
};
