/* Delivery (clause 2.7): the oldest new order of each district of a warehouse, all in one transaction. */
#include "terminal.h"
#include "transactions.h"

void tpcc_choose_delivery(struct client *client, void *arguments) {
  struct delivery *delivery = arguments;
  *delivery =
      (struct delivery){.warehouse = tpcc_home_warehouse(client), .carrier = random_uniform(&client->random, 1, 10)};
}

/* The sum of the lines is read after they were changed: InnoDB then shows them as they are, not as they were when the
 * transaction first read something, when this order may not have been there yet. */
enum db_result tpcc_delivery(struct client *client, void *arguments, enum outcome *outcome) {
  struct db *db = client->db;
  struct delivery *delivery = arguments;
  const int64_t w_id = delivery->warehouse;

  delivery->delivered = 0;
  TRY(db_begin_as(db, client->type));
  for (int64_t d_id = 1; d_id <= TPCC_DISTRICTS; d_id++) {
    int64_t o_id, c_id;
    char amount[DECIMAL_SIZE];
    const enum db_result found = db_one(db,
                                        "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND "
                                        "no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                                        in(w_id), in(d_id), out(&o_id));
    if (found == DB_NO_ROW) continue;
    TRY(found);
    TRY(db_execute(db, "DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", in(w_id), in(d_id),
                   in(o_id)));
    TRY(db_one(db, "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE", in(w_id),
               in(d_id), in(o_id), out(&c_id)));
    TRY(db_execute(db, "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                   in(delivery->carrier), in(w_id), in(d_id), in(o_id)));
    TRY(db_execute(db,
                   "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP "
                   "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                   in(w_id), in(d_id), in(o_id)));
    TRY(db_one(db, "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", in(w_id),
               in(d_id), in(o_id), out_text(amount)));
    TRY(db_execute(db,
                   "UPDATE customer SET c_balance = c_balance + CAST(? AS decimal(12, 2)), "
                   "c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                   in(amount), in(w_id), in(d_id), in(c_id)));
    delivery->delivered++;
  }
  *outcome = OUTCOME_COMMITTED;
  return db_commit(db);
}
