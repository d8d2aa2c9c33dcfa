/* Order-Status (clause 2.6): what a customer ordered last. It changes nothing. */
#include "terminal.h"
#include "transactions.h"

void tpcc_choose_order_status(struct client *client, void *arguments) {
  struct order_status *status = arguments;
  *status = (struct order_status){.warehouse = tpcc_home_warehouse(client), .district = tpcc_random_district(client)};
  tpcc_choose_customer(client, &status->customer, status->last_name);
}

enum db_result tpcc_order_status(struct client *client, void *arguments, enum outcome *outcome) {
  struct db *db = client->db;
  const struct order_status *status = arguments;
  const int64_t w_id = status->warehouse, d_id = status->district;
  char c_balance[DECIMAL_SIZE], c_first[17], c_middle[3], c_last[17], o_entry_d[32];
  int64_t c_id = status->customer, o_id, o_carrier_id;
  struct {
    int64_t i_id, supply_w_id, quantity;
    char amount[DECIMAL_SIZE], delivery_d[32];
  } line;

  TRY(db_begin_as(db, client->type));
  if (c_id == 0) {
    int64_t same_name[TPCC_CUSTOMERS], row, count = 0;
    TRY(db_query(db,
                 "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? "
                 "ORDER BY c_first",
                 in(w_id), in(d_id), in(status->last_name), out(&row)));
    while (count < TPCC_CUSTOMERS && db_next(db)) same_name[count++] = row;
    TRY(db_ended(db));
    if (count == 0) return DB_NO_ROW;
    c_id = same_name[(count - 1) / 2];
  }
  TRY(db_one(db,
             "SELECT c_balance, c_first, c_middle, c_last FROM customer "
             "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
             in(w_id), in(d_id), in(c_id), out_text(c_balance), out_text(c_first), out_text(c_middle),
             out_text(c_last)));
  TRY(db_one(db,
             "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? "
             "ORDER BY o_id DESC LIMIT 1",
             in(w_id), in(d_id), in(c_id), out(&o_id), out_text(o_entry_d), out(&o_carrier_id)));
  TRY(db_query(db,
               "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
               "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
               in(w_id), in(d_id), in(o_id), out(&line.i_id), out(&line.supply_w_id), out(&line.quantity),
               out_text(line.amount), out_text(line.delivery_d)));
  while (db_next(db)) continue; /* a terminal would show them */
  TRY(db_ended(db));
  *outcome = OUTCOME_COMMITTED;
  return db_commit(db);
}
