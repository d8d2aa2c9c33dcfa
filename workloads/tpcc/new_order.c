/* New-Order (clause 2.4): an order of 5 to 15 lines; one in a hundred names an unused item and is rolled back. */
#include <string.h>

#include "terminal.h"
#include "transactions.h"

static void choose_line(struct client *client, struct new_order *order, struct new_order_line *line) {
  line->item = tpcc_random_item(&client->random);
  line->quantity = random_uniform(&client->random, 1, 10);
  line->supply_warehouse = order->warehouse;
  if (tpcc_percent(client, 1) && tpcc_has_other_warehouses(client)) {
    line->supply_warehouse = tpcc_other_warehouse(client, order->warehouse);
    order->all_local = 0;
  }
}

void tpcc_choose_new_order(struct client *client, void *arguments) {
  struct new_order *order = arguments;
  *order = (struct new_order){.warehouse = tpcc_home_warehouse(client),
                              .district = tpcc_random_district(client),
                              .customer = tpcc_random_customer(&client->random),
                              .line_count = random_uniform(&client->random, TPCC_MIN_LINES, TPCC_MAX_LINES),
                              .all_local = 1};
  for (int64_t i = 0; i < order->line_count; i++) choose_line(client, order, &order->lines[i]);
  if (tpcc_percent(client, 1)) order->lines[order->line_count - 1].item = TPCC_ITEMS + 1;
}

/* Clause 2.4.2.2: the stock is filled up before fewer than 10 pieces are left. */
static int64_t quantity_left(int64_t in_stock, int64_t ordered) {
  return in_stock >= ordered + 10 ? in_stock - ordered : in_stock - ordered + 91;
}

static char brand_or_generic(const char *item_data, const char *stock_data) {
  return strstr(item_data, "ORIGINAL") && strstr(stock_data, "ORIGINAL") ? 'B' : 'G';
}

/* With discount and taxes, which are ten-thousandths. */
static int64_t total_cents(int64_t cents, const char *discount, const char *warehouse_tax, const char *district_tax) {
  const int64_t taxed = 10000 + decimal_units(warehouse_tax, 4) + decimal_units(district_tax, 4);
  return cents * (10000 - decimal_units(discount, 4)) / 10000 * taxed / 10000;
}

enum db_result tpcc_new_order(struct client *client, void *arguments, enum outcome *outcome) {
  struct db *db = client->db;
  struct new_order *order = arguments;
  const int64_t w_id = order->warehouse, d_id = order->district, c_id = order->customer;
  char w_tax[DECIMAL_SIZE], d_tax[DECIMAL_SIZE], c_discount[DECIMAL_SIZE], c_last[17], c_credit[3];
  int64_t o_id, sum_cents = 0;

  TRY(db_begin_as(db, client->type));
  TRY(db_one(db, "SELECT w_tax FROM warehouse WHERE w_id = ?", in(w_id), out_text(w_tax)));
  TRY(db_one(db, "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", in(w_id), in(d_id),
             out(&o_id), out_text(d_tax)));
  TRY(db_execute(db, "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", in(o_id + 1), in(w_id),
                 in(d_id)));
  TRY(db_one(db, "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
             in(w_id), in(d_id), in(c_id), out_text(c_discount), out_text(c_last), out_text(c_credit)));
  TRY(db_execute(db,
                 "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) "
                 "VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, NULL, ?, ?)",
                 in(o_id), in(d_id), in(w_id), in(c_id), in(order->line_count), in(order->all_local)));
  TRY(db_execute(db, "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", in(o_id), in(d_id),
                 in(w_id)));
  for (int64_t i = 0; i < order->line_count; i++) {
    struct new_order_line *line = &order->lines[i];
    char i_price[DECIMAL_SIZE], i_name[25], i_data[51], s_dist[25], s_data[51], ol_amount[DECIMAL_SIZE];
    int64_t s_quantity;
    const enum db_result found = db_one(db, "SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", in(line->item),
                                        out_text(i_price), out_text(i_name), out_text(i_data));
    if (found == DB_NO_ROW) {
      *outcome = OUTCOME_ROLLED_BACK;
      return db_rollback(db);
    }
    TRY(found);
    TRY(db_one(
        db,
        "SELECT s_quantity, s_data, CASE ? + 0 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 "
        "WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 "
        "WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END "
        "FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
        in(d_id), in(line->supply_warehouse), in(line->item), out(&s_quantity), out_text(s_data), out_text(s_dist)));
    TRY(db_execute(db,
                   "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, "
                   "s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
                   in(quantity_left(s_quantity, line->quantity)), in(line->quantity),
                   in(line->supply_warehouse != w_id), in(line->supply_warehouse), in(line->item)));
    line->amount_cents = line->quantity * decimal_units(i_price, 2);
    line->brand_or_generic = brand_or_generic(i_data, s_data);
    sum_cents += line->amount_cents;
    decimal_text(ol_amount, line->amount_cents, 2);
    TRY(db_execute(db,
                   "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, "
                   "ol_delivery_d, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                   in(o_id), in(d_id), in(w_id), in(i + 1), in(line->item), in(line->supply_warehouse),
                   in(line->quantity), in(ol_amount), in(s_dist)));
  }
  order->order = o_id;
  order->total_cents = total_cents(sum_cents, c_discount, w_tax, d_tax);
  *outcome = OUTCOME_COMMITTED;
  return db_commit(db);
}
