/* The five transactions (clause 2): what each is given, drawn once for all of its tries, and what a terminal would
 * show of its result.
 *
 * A transaction is one function from db_begin_as to db_commit, with its SQL where it is executed. Its BEGIN has
 * its name in a comment, so that a server that sees statements only knows the type.
 */
#ifndef VPROF_TPCC_TRANSACTIONS_H
#define VPROF_TPCC_TRANSACTIONS_H

#include "decimal.h"
#include "nurand.h"
#include "tpcc.h"

struct new_order_line {
  int64_t item; /* TPCC_ITEMS + 1: an unused number */
  int64_t supply_warehouse;
  int64_t quantity;
  int64_t amount_cents; /* from here on: results */
  char brand_or_generic;
};

struct new_order {
  int64_t warehouse;
  int64_t district;
  int64_t customer;
  int64_t line_count;
  int64_t all_local;
  struct new_order_line lines[TPCC_MAX_LINES];
  int64_t order; /* from here on: results */
  int64_t total_cents;
};

struct payment {
  int64_t warehouse;
  int64_t district;
  int64_t customer_warehouse;
  int64_t customer_district;
  int64_t customer; /* 0: by last name */
  char last_name[TPCC_LAST_NAME_SIZE];
  char amount[DECIMAL_SIZE];
};

struct order_status {
  int64_t warehouse;
  int64_t district;
  int64_t customer; /* 0: by last name */
  char last_name[TPCC_LAST_NAME_SIZE];
};

struct delivery {
  int64_t warehouse;
  int64_t carrier;
  int64_t delivered; /* result: in how many districts there was an order */
};

struct stock_level {
  int64_t warehouse;
  int64_t district;
  int64_t threshold;
  int64_t low_stock; /* result */
};

void tpcc_choose_new_order(struct client *client, void *arguments);
void tpcc_choose_payment(struct client *client, void *arguments);
void tpcc_choose_order_status(struct client *client, void *arguments);
void tpcc_choose_delivery(struct client *client, void *arguments);
void tpcc_choose_stock_level(struct client *client, void *arguments);

enum db_result tpcc_new_order(struct client *client, void *arguments, enum outcome *outcome);
enum db_result tpcc_payment(struct client *client, void *arguments, enum outcome *outcome);
enum db_result tpcc_order_status(struct client *client, void *arguments, enum outcome *outcome);
enum db_result tpcc_delivery(struct client *client, void *arguments, enum outcome *outcome);
enum db_result tpcc_stock_level(struct client *client, void *arguments, enum outcome *outcome);

#endif
