#include "requests.h"

static enum txn_type draw_type(struct rng *rng) {
  unsigned roll = rng_between(rng, 1, 100);
  return roll <= 45 ? TXN_TRANSFER : roll <= 90 ? TXN_DEPOSIT : TXN_STATEMENT;
}

/* One row from each of equal slices of the table, so that all transactions lock rows in the same order, each once. */
static void draw_accounts(const struct requests *requests, struct txn *txn, struct rng *rng) {
  size_t slice = requests->rows / txn->account_count;
  for (size_t i = 0; i < txn->account_count; i++) {
    txn->accounts[i] = table_account(i * slice + rng_between(rng, 0, (unsigned)slice - 1));
  }
  if (rng_percent(rng, requests->pathology->hot_row_percent)) txn->accounts[0] = table_account(0);
}

void requests_draw(const struct requests *requests, struct txn *txn, struct rng *rng) {
  txn->type = requests->contention ? TXN_BATCH : draw_type(rng);
  txn->type_name = txn_type_name(txn->type);
  txn->account_count = txn_type_accounts(txn->type);
  txn->batch = (struct batch){0};
  if (requests->contention) {
    contention_draw(requests->contention, txn, rng);
  } else {
    draw_accounts(requests, txn, rng);
  }
  txn->amount = rng_between(rng, 1, 1000);
  txn->work = pathology_deal(requests->pathology, txn->type, requests->amount, rng);
}

uint64_t requests_checksum(uint64_t sum, const struct txn *txn) {
  sum = (sum ^ txn->accounts[0] ^ (uint64_t)txn->amount ^ txn->work.audit_rounds) * 1099511628211u;
  sum ^= (uint64_t)txn->work.compress_passes << 32 ^ txn->work.evict_sweeps ^ txn->batch.pauses_us[0];
  return (sum ^ txn->work.version_rounds ^ txn->work.scan_rounds) * 1099511628211u ^ txn->work.sort_passes;
}
