/* The orders that there are at first: each customer has placed one, the last 900 of a district are not delivered. */
#include "tables.h"
#include "tpcc.h"

/* How many lines each order of a warehouse has; orders and lines are filled one after the other. */
typedef unsigned char line_counts[TPCC_DISTRICTS][TPCC_ORDERS];

static bool is_new(int64_t order) {
  return order >= TPCC_FIRST_NEW_ORDER;
}

static void shuffle_customers(struct random *random, int64_t customers[TPCC_CUSTOMERS]) {
  for (int64_t i = 0; i < TPCC_CUSTOMERS; i++) {
    const int64_t other = random_uniform(random, 0, i);
    customers[i] = customers[other];
    customers[other] = i + 1;
  }
}

static bool put_order(struct filler *filler, int64_t warehouse, int64_t district, int64_t order, int64_t customer,
                      int64_t lines) {
  struct row *row = &filler->row;
  row_int(row, warehouse);
  row_int(row, district);
  row_int(row, order);
  row_int(row, customer);
  row_text(row, filler->now);
  if (is_new(order)) {
    row_null(row);
  } else {
    row_int(row, random_uniform(&filler->random, 1, 10));
  }
  row_int(row, lines);
  row_text(row, "1");
  return filler_put(filler);
}

static void put_orders(struct filler *filler, int64_t warehouse, int64_t district,
                       unsigned char line_counts[TPCC_ORDERS]) {
  int64_t customers[TPCC_CUSTOMERS];
  shuffle_customers(&filler->random, customers);
  for (int64_t i = 0; i < TPCC_ORDERS; i++) {
    line_counts[i] = (unsigned char)random_uniform(&filler->random, TPCC_MIN_LINES, TPCC_MAX_LINES);
    if (!put_order(filler, warehouse, district, i + 1, customers[i], line_counts[i])) return;
  }
}

static enum db_result fill_orders(struct filler *filler, int64_t warehouse, line_counts counts) {
  TRY(filler_begin(filler, "orders", "o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local"));
  for (int64_t district = 1; district <= TPCC_DISTRICTS; district++) {
    put_orders(filler, warehouse, district, counts[district - 1]);
  }
  return filler_end(filler);
}

static enum db_result fill_new_orders(struct filler *filler, int64_t warehouse) {
  TRY(filler_begin(filler, "new_order", "no_w_id, no_d_id, no_o_id"));
  for (int64_t district = 1; district <= TPCC_DISTRICTS; district++) {
    for (int64_t order = TPCC_FIRST_NEW_ORDER; order <= TPCC_ORDERS; order++) {
      row_int(&filler->row, warehouse);
      row_int(&filler->row, district);
      row_int(&filler->row, order);
      if (!filler_put(filler)) break;
    }
  }
  return filler_end(filler);
}

static bool put_line(struct filler *filler, int64_t warehouse, int64_t district, int64_t order, int64_t line) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  row_int(row, warehouse);
  row_int(row, district);
  row_int(row, order);
  row_int(row, line);
  row_int(row, random_uniform(random, 1, TPCC_ITEMS));
  row_int(row, warehouse);
  if (is_new(order)) {
    row_null(row);
    row_text(row, "5");
    row_random_decimal(row, random, 1, 999999, 2);
  } else {
    row_text(row, filler->now);
    row_text(row, "5");
    row_text(row, "0.00");
  }
  row_random_text(row, random, 24, 24);
  return filler_put(filler);
}

static void put_lines(struct filler *filler, int64_t warehouse, int64_t district,
                      const unsigned char line_counts[TPCC_ORDERS]) {
  for (int64_t i = 0; i < TPCC_ORDERS; i++) {
    for (int64_t line = 1; line <= line_counts[i]; line++) {
      if (!put_line(filler, warehouse, district, i + 1, line)) return;
    }
  }
}

static enum db_result fill_lines(struct filler *filler, int64_t warehouse, line_counts counts) {
  TRY(filler_begin(filler, "order_line",
                   "ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, "
                   "ol_amount, ol_dist_info"));
  for (int64_t district = 1; district <= TPCC_DISTRICTS; district++) {
    put_lines(filler, warehouse, district, counts[district - 1]);
  }
  return filler_end(filler);
}

enum db_result tpcc_fill_orders(struct filler *filler, int64_t warehouse) {
  line_counts counts = {{0}};
  TRY(fill_orders(filler, warehouse, counts));
  TRY(fill_new_orders(filler, warehouse));
  return fill_lines(filler, warehouse, counts);
}
