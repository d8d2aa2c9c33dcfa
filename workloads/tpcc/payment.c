/* Payment (clause 2.5): a customer pays, possibly in another warehouse than the one that he or she belongs to. */
#include <stdio.h>
#include <string.h>

#include "terminal.h"
#include "transactions.h"

void tpcc_choose_payment(struct client *client, void *arguments) {
  struct payment *payment = arguments;
  *payment = (struct payment){.warehouse = tpcc_home_warehouse(client), .district = tpcc_random_district(client)};
  payment->customer_warehouse = payment->warehouse;
  payment->customer_district = payment->district;
  if (tpcc_percent(client, 15) && tpcc_has_other_warehouses(client)) {
    payment->customer_warehouse = tpcc_other_warehouse(client, payment->warehouse);
    payment->customer_district = tpcc_random_district(client);
  }
  tpcc_choose_customer(client, &payment->customer, payment->last_name);
  decimal_text(payment->amount, random_uniform(&client->random, 100, 500000), 2);
}

enum db_result tpcc_payment(struct client *client, void *arguments, enum outcome *outcome) {
  struct db *db = client->db;
  const struct payment *payment = arguments;
  const int64_t w_id = payment->warehouse, d_id = payment->district;
  const int64_t c_w_id = payment->customer_warehouse, c_d_id = payment->customer_district;
  const char *h_amount = payment->amount;
  struct {
    char name[11], street_1[21], street_2[21], city[21], state[3], zip[10];
  } w, d;
  struct {
    char first[17], middle[3], last[17], street_1[21], street_2[21], city[21], state[3], zip[10], phone[17], since[32];
    char credit[3], credit_lim[DECIMAL_SIZE], discount[DECIMAL_SIZE], balance[DECIMAL_SIZE], data[501];
  } c;
  int64_t c_id = payment->customer;
  char h_data[25];

  TRY(db_begin_as(db, client->type));
  TRY(db_execute(db, "UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS decimal(12, 2)) WHERE w_id = ?", in(h_amount),
                 in(w_id)));
  TRY(db_one(db, "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
             in(w_id), out_text(w.name), out_text(w.street_1), out_text(w.street_2), out_text(w.city),
             out_text(w.state), out_text(w.zip)));
  TRY(db_execute(db, "UPDATE district SET d_ytd = d_ytd + CAST(? AS decimal(12, 2)) WHERE d_w_id = ? AND d_id = ?",
                 in(h_amount), in(w_id), in(d_id)));
  TRY(db_one(db,
             "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district "
             "WHERE d_w_id = ? AND d_id = ?",
             in(w_id), in(d_id), out_text(d.name), out_text(d.street_1), out_text(d.street_2), out_text(d.city),
             out_text(d.state), out_text(d.zip)));
  if (c_id == 0) {
    int64_t same_name[TPCC_CUSTOMERS], row, count = 0;
    TRY(db_query(db, "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
                 in(c_w_id), in(c_d_id), in(payment->last_name), out(&row)));
    while (count < TPCC_CUSTOMERS && db_next(db)) same_name[count++] = row;
    TRY(db_ended(db));
    if (count == 0) return DB_NO_ROW;
    c_id = same_name[(count - 1) / 2];
  }
  TRY(db_one(db,
             "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, "
             "c_credit, c_credit_lim, c_discount, c_balance FROM customer "
             "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
             in(c_w_id), in(c_d_id), in(c_id), out_text(c.first), out_text(c.middle), out_text(c.last),
             out_text(c.street_1), out_text(c.street_2), out_text(c.city), out_text(c.state), out_text(c.zip),
             out_text(c.phone), out_text(c.since), out_text(c.credit), out_text(c.credit_lim), out_text(c.discount),
             out_text(c.balance)));
  TRY(db_execute(db,
                 "UPDATE customer SET c_balance = c_balance - CAST(? AS decimal(12, 2)), "
                 "c_ytd_payment = c_ytd_payment + CAST(? AS decimal(12, 2)), c_payment_cnt = c_payment_cnt + 1 "
                 "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                 in(h_amount), in(h_amount), in(c_w_id), in(c_d_id), in(c_id)));
  if (strcmp(c.credit, "BC") == 0) {
    char c_data[501 + 100];
    TRY(db_one(db, "SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", in(c_w_id), in(c_d_id),
               in(c_id), out_text(c.data)));
    snprintf(c_data, sizeof c_data, "%lld %lld %lld %lld %lld %s | %s", (long long)c_id, (long long)c_d_id,
             (long long)c_w_id, (long long)d_id, (long long)w_id, h_amount, c.data);
    c_data[500] = 0;
    TRY(db_execute(db, "UPDATE customer SET c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", in(c_data),
                   in(c_w_id), in(c_d_id), in(c_id)));
  }
  snprintf(h_data, sizeof h_data, "%s    %s", w.name, d.name);
  TRY(db_execute(db,
                 "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) "
                 "VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)",
                 in(c_d_id), in(c_w_id), in(c_id), in(d_id), in(w_id), in(h_amount), in(h_data)));
  *outcome = OUTCOME_COMMITTED;
  return db_commit(db);
}
