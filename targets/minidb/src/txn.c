#include "txn.h"

#include <string.h>

#include "spin.h"

enum { HISTORY = 100 };

static const struct {
  const char *name;
  size_t accounts;
} types[TXN_TYPES] = {
    [TXN_TRANSFER] = {"transfer", 2},
    [TXN_DEPOSIT] = {"deposit", 1},
    [TXN_STATEMENT] = {"statement", 3},
    [TXN_BATCH] = {"batch", 5},
};

const char *txn_type_name(enum txn_type type) {
  return types[type].name;
}

size_t txn_type_accounts(enum txn_type type) {
  return types[type].accounts;
}

void txn_init(struct txn *txn) {
  *txn = (struct txn){0};
  lock_owner_init(&txn->locks);
  pthread_mutex_init(&txn->reply_mutex, NULL);
  pthread_cond_init(&txn->reply_arrived, NULL);
}

void txn_destroy(struct txn *txn) {
  lock_owner_destroy(&txn->locks);
  pthread_mutex_destroy(&txn->reply_mutex);
  pthread_cond_destroy(&txn->reply_arrived);
}

void txn_begin(struct txn *txn, int64_t begin_ns) {
  txn->replied = false;
  txn->begin_ns = txn->locks.born_ns = begin_ns;
}

void txn_end(struct txn *txn) {
  txn->end_ns = now_ns();
}

void txn_reply(struct txn *txn) {
  pthread_mutex_lock(&txn->reply_mutex);
  txn->replied = true;
  pthread_cond_signal(&txn->reply_arrived);
  pthread_mutex_unlock(&txn->reply_mutex);
}

void txn_await_reply(struct txn *txn) {
  pthread_mutex_lock(&txn->reply_mutex);
  while (!txn->replied) pthread_cond_wait(&txn->reply_arrived, &txn->reply_mutex);
  pthread_mutex_unlock(&txn->reply_mutex);
}

/* A checksum over a row, chained over `rounds`. The pathology `lock` is here: the rounds, while the row is locked. */
static uint64_t audit_checksum(const struct row *row, unsigned rounds) {
  uint64_t sum = 14695981039346656037u;
  for (unsigned round = 0; round < rounds; round++) {
    for (size_t i = 0; i < sizeof row->owner; i++) {
      sum = (sum ^ row->owner[i]) * 1099511628211u;
    }
    sum ^= (uint64_t)row->balance;
  }
  return sum;
}

/* Only the first row of a transaction gets more than one round. */
static void audit_row(struct row *row, unsigned *rounds) {
  row->checksum = audit_checksum(row, *rounds);
  *rounds = 1;
}

/* The form in which the row is kept, chained over `rounds`. The pathology `pair` is here and in
 * row_digest: a long version takes both of them long. */
static uint64_t row_encode(const struct row *row, unsigned rounds) {
  uint64_t image = row->account;
  for (unsigned round = 0; round < rounds; round++) {
    for (size_t i = 0; i < sizeof row->owner; i++) image = (image + row->owner[i]) * 2654435761u;
    image += (uint64_t)row->balance;
  }
  return image;
}

static uint64_t row_digest(const struct row *row, unsigned rounds) {
  uint64_t digest = row->image;
  for (unsigned round = 0; round < rounds; round++) {
    for (size_t i = 0; i < sizeof row->owner; i++) digest = (digest ^ row->owner[i]) * 6364136223846793005u;
  }
  return digest;
}

static void log_change(struct database *database, struct txn *txn, const struct row *row, int64_t before) {
  struct log_record record = {.txn_id = txn->id, .account = row->account, .before = before, .after = row->balance};
  memcpy(record.kind, txn->type_name, strlen(txn->type_name));
  log_add(&database->log, &txn->log, &record);
}

/* Locks the account's row until the end of the transaction and brings its page in. */
static struct row *account_open(struct database *database, struct txn *txn, uint64_t account, enum lock_mode mode) {
  size_t row = index_search(&database->table, account, &txn->work);
  lock_acquire(&database->locks, &txn->locks, row, mode);
  return row_fetch(&database->table, row, &txn->work);
}

static void account_update(struct database *database, struct txn *txn, uint64_t account, int64_t amount) {
  struct row *row = account_open(database, txn, account, LOCK_EXCLUSIVE);
  int64_t before = row->balance;
  row->balance += amount;
  audit_row(row, &txn->work.audit_rounds);
  row->image = row_encode(row, txn->work.version_rounds);
  row->digest = row_digest(row, txn->work.version_rounds);
  txn->work.version_rounds = 1;
  log_change(database, txn, row, before);
}

static void run_transfer(struct database *database, struct txn *txn) {
  account_update(database, txn, txn->accounts[0], -txn->amount);
  account_update(database, txn, txn->accounts[1], txn->amount);
}

static void run_deposit(struct database *database, struct txn *txn) {
  account_update(database, txn, txn->accounts[0], txn->amount);
}

/* Reads all accounts of the statement and stamps the first one. */
static void run_statement(struct database *database, struct txn *txn) {
  account_update(database, txn, txn->accounts[0], 0);
  for (size_t i = 1; i < txn->account_count; i++) {
    const struct row *row = account_open(database, txn, txn->accounts[i], LOCK_SHARED);
    txn->amount += row->balance;
  }
}

/* Stands for what a statement waits for outside of the engine: another server, or its client. */
static void statement_pause(unsigned micros) {
  sleep_us(micros);
}

static void run_batch(struct database *database, struct txn *txn) {
  for (size_t i = 0; i < txn->account_count; i++) {
    if (txn->batch.modes[i] == LOCK_EXCLUSIVE) {
      account_update(database, txn, txn->accounts[i], txn->amount);
    } else {
      txn->fee ^= (uint64_t)account_open(database, txn, txn->accounts[i], LOCK_SHARED)->balance;
    }
    statement_pause(txn->batch.pauses_us[i]);
  }
}

/* Stands for what happens once in a long while: a full queue of the storage, a page that the system takes away. */
static void commit_stall(unsigned micros) {
  sleep_us(micros);
}

/* Strict two-phase locking: the locks go only when the log is durable. */
static void txn_commit(struct database *database, struct txn *txn) {
  if (txn->work.stall_us) commit_stall(txn->work.stall_us);
  txn->lsn = log_commit(&database->log, &txn->log, txn->work.compress_passes);
  lock_release_all(&database->locks, &txn->locks);
}

/* What the account did lately decides on its fee. How much there is to scan depends on the type of the transaction
 * alone: the pathology `types` is here, which is none; with `workers` it is the same for all. */
static uint64_t history_scan(uint64_t account, unsigned rounds) {
  uint64_t fee = account;
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned i = 0; i < HISTORY; i++) fee = (fee ^ (fee >> 27)) * 3202034522624059733u + i;
  }
  return fee;
}

void txn_execute(struct database *database, struct txn *txn) {
  txn->fee = history_scan(txn->accounts[0], txn->work.scan_rounds);
  switch (txn->type) {
    case TXN_TRANSFER:
      run_transfer(database, txn);
      break;
    case TXN_DEPOSIT:
      run_deposit(database, txn);
      break;
    case TXN_BATCH:
      run_batch(database, txn);
      break;
    default:
      run_statement(database, txn);
      break;
  }
  txn_commit(database, txn);
}
