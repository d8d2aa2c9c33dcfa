/* What the tables hold at first (clause 4.3.3.1), but for orders: orders.c. */
#include "tables.h"

#include "nurand.h"
#include "tpcc.h"

enum db_result tpcc_fill_items(struct filler *filler) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  TRY(filler_begin(filler, "item", "i_id, i_im_id, i_name, i_price, i_data"));
  for (int64_t item = 1; item <= TPCC_ITEMS; item++) {
    row_int(row, item);
    row_int(row, random_uniform(random, 1, 10000));
    row_random_text(row, random, 14, 24);
    row_random_decimal(row, random, 100, 10000, 2);
    row_random_data(row, random);
    if (!filler_put(filler)) break;
  }
  return filler_end(filler);
}

static void put_address(struct filler *filler) {
  row_random_text(&filler->row, &filler->random, 10, 20); /* two streets and a city */
  row_random_text(&filler->row, &filler->random, 10, 20);
  row_random_text(&filler->row, &filler->random, 10, 20);
  row_random_capitals(&filler->row, &filler->random, 2, 2);
  row_random_digits(&filler->row, &filler->random, 4, 4, "11111");
}

enum db_result tpcc_fill_warehouse_rows(struct filler *filler, int64_t count) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  TRY(filler_begin(filler, "warehouse",
                   "w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, "
                   "w_tax, w_ytd"));
  for (int64_t warehouse = 1; warehouse <= count; warehouse++) {
    row_int(row, warehouse);
    row_random_text(row, random, 6, 10);
    put_address(filler);
    row_random_decimal(row, random, 0, 2000, 4);
    row_text(row, "300000.00");
    if (!filler_put(filler)) break;
  }
  return filler_end(filler);
}

static enum db_result fill_districts(struct filler *filler, int64_t warehouse) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  TRY(filler_begin(filler, "district",
                   "d_w_id, d_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, "
                   "d_tax, d_ytd, d_next_o_id"));
  for (int64_t district = 1; district <= TPCC_DISTRICTS; district++) {
    row_int(row, warehouse);
    row_int(row, district);
    row_random_text(row, random, 6, 10);
    put_address(filler);
    row_random_decimal(row, random, 0, 2000, 4);
    row_text(row, "30000.00");
    row_int(row, TPCC_ORDERS + 1);
    if (!filler_put(filler)) break;
  }
  return filler_end(filler);
}

static enum db_result fill_stock(struct filler *filler, int64_t warehouse) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  TRY(filler_begin(
      filler, "stock",
      "s_w_id, s_i_id, s_quantity, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, "
      "s_dist_08, s_dist_09, s_dist_10, s_ytd, s_order_cnt, s_remote_cnt, s_data"));
  for (int64_t item = 1; item <= TPCC_ITEMS; item++) {
    row_int(row, warehouse);
    row_int(row, item);
    row_int(row, random_uniform(random, 10, 100));
    for (int district = 1; district <= TPCC_DISTRICTS; district++) row_random_text(row, random, 24, 24);
    row_text(row, "0");
    row_text(row, "0");
    row_text(row, "0");
    row_random_data(row, random);
    if (!filler_put(filler)) break;
  }
  return filler_end(filler);
}

/* The first 1,000 customers of a district have each name once. */
static int64_t name_of(struct filler *filler, int64_t customer) {
  return customer <= 1000 ? customer - 1 : tpcc_random_loaded_name(&filler->random);
}

/* Until one cannot be put. */
static void for_each_customer(struct filler *filler, int64_t warehouse,
                              bool (*put)(struct filler *, int64_t, int64_t, int64_t)) {
  for (int64_t district = 1; district <= TPCC_DISTRICTS; district++) {
    for (int64_t customer = 1; customer <= TPCC_CUSTOMERS; customer++) {
      if (!put(filler, warehouse, district, customer)) return;
    }
  }
}

static bool put_customer(struct filler *filler, int64_t warehouse, int64_t district, int64_t customer) {
  struct row *row = &filler->row;
  struct random *random = &filler->random;
  char last_name[TPCC_LAST_NAME_SIZE];
  tpcc_last_name(name_of(filler, customer), last_name);
  row_int(row, warehouse);
  row_int(row, district);
  row_int(row, customer);
  row_random_text(row, random, 8, 16);
  row_text(row, "OE");
  row_text(row, last_name);
  put_address(filler);
  row_random_digits(row, random, 16, 16, "");
  row_text(row, filler->now);
  row_text(row, random_uniform(random, 1, 10) == 1 ? "BC" : "GC");
  row_text(row, "50000.00");
  row_random_decimal(row, random, 0, 5000, 4);
  row_text(row, "-10.00");
  row_text(row, "10.00");
  row_text(row, "1");
  row_text(row, "0");
  row_random_text(row, random, 300, 500);
  return filler_put(filler);
}

static enum db_result fill_customers(struct filler *filler, int64_t warehouse) {
  TRY(filler_begin(
      filler, "customer",
      "c_w_id, c_d_id, c_id, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, "
      "c_since, c_credit, c_credit_lim, c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, "
      "c_data"));
  for_each_customer(filler, warehouse, put_customer);
  return filler_end(filler);
}

static bool put_history(struct filler *filler, int64_t warehouse, int64_t district, int64_t customer) {
  struct row *row = &filler->row;
  row_int(row, customer);
  row_int(row, district);
  row_int(row, warehouse);
  row_int(row, district);
  row_int(row, warehouse);
  row_text(row, filler->now);
  row_text(row, "10.00");
  row_random_text(row, &filler->random, 12, 24);
  return filler_put(filler);
}

static enum db_result fill_history(struct filler *filler, int64_t warehouse) {
  TRY(filler_begin(filler, "history", "h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data"));
  for_each_customer(filler, warehouse, put_history);
  return filler_end(filler);
}

enum db_result tpcc_fill_warehouse(struct filler *filler, int64_t warehouse) {
  TRY(fill_districts(filler, warehouse));
  TRY(fill_stock(filler, warehouse));
  TRY(fill_customers(filler, warehouse));
  TRY(fill_history(filler, warehouse));
  return tpcc_fill_orders(filler, warehouse);
}
