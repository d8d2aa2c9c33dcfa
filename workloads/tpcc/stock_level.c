/* Stock-Level (clause 2.8): how many items of the last 20 orders of a district are low in stock. It changes nothing. */
#include "terminal.h"
#include "transactions.h"

void tpcc_choose_stock_level(struct client *client, void *arguments) {
  struct stock_level *level = arguments;
  *level = (struct stock_level){.warehouse = tpcc_home_warehouse(client),
                                .district = tpcc_home_district(client),
                                .threshold = random_uniform(&client->random, 10, 20)};
}

enum db_result tpcc_stock_level(struct client *client, void *arguments, enum outcome *outcome) {
  struct db *db = client->db;
  struct stock_level *level = arguments;
  const int64_t w_id = level->warehouse, d_id = level->district;
  int64_t next_o_id;

  TRY(db_begin_as(db, client->type));
  TRY(db_one(db, "SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", in(w_id), in(d_id),
             out(&next_o_id)));
  TRY(db_one(db,
             "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id "
             "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? AND s_quantity < ?",
             in(w_id), in(d_id), in(next_o_id - 20), in(next_o_id), in(level->threshold), out(&level->low_stock)));
  *outcome = OUTCOME_COMMITTED;
  return db_commit(db);
}
