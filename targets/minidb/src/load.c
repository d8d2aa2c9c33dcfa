#include "load.h"

#include <string.h>

#include "memory.h"
#include "spin.h"
#include "thread.h"

enum { THINK_LOW_US = 2000, THINK_HIGH_US = 5000, CHECKED_REQUESTS = 100 };

struct client {
  struct load *load;
  uint64_t number; /* from 1 */
  pthread_t thread;
  int64_t *latencies_ns;
  size_t count;
  size_t capacity;
};

static struct rng client_rng(const struct load *load, uint64_t number) {
  return rng_make(load->seed, number);
}

static enum txn_type draw_type(struct rng *rng) {
  unsigned roll = rng_between(rng, 1, 100);
  return roll <= 45 ? TXN_TRANSFER : roll <= 90 ? TXN_DEPOSIT : TXN_STATEMENT;
}

/* One row from each of equal slices of the table, so that all transactions lock rows in the same order, each once. */
static void draw_accounts(struct txn *txn, const struct load *load, struct rng *rng) {
  size_t slice = load->rows / txn->account_count;
  for (size_t i = 0; i < txn->account_count; i++) {
    txn->accounts[i] = table_account(i * slice + rng_between(rng, 0, (unsigned)slice - 1));
  }
  if (rng_percent(rng, load->pathology->hot_row_percent)) txn->accounts[0] = table_account(0);
}

static void draw_request(struct txn *txn, const struct load *load, struct rng *rng) {
  txn->type = draw_type(rng);
  txn->type_name = txn_type_name(txn->type);
  txn->account_count = txn_type_accounts(txn->type);
  draw_accounts(txn, load, rng);
  txn->amount = rng_between(rng, 1, 1000);
  txn->work = pathology_deal(load->pathology, txn->type, load->amount, rng);
}

static void note_latency(struct client *client, int64_t latency_ns) {
  if (client->count == client->capacity) {
    client->capacity = client->capacity ? 2 * client->capacity : 1024;
    client->latencies_ns = reallocate(client->latencies_ns, client->capacity, sizeof *client->latencies_ns);
  }
  client->latencies_ns[client->count++] = latency_ns;
}

static void client_request(struct client *client, struct txn *txn, struct rng *rng) {
  draw_request(txn, client->load, rng);
  txn->id = client->number << 40 | (client->count + 1);
  txn_begin(txn);
  engine_submit(client->load->engine, txn);
  txn_await_reply(txn);
  note_latency(client, txn->end_ns - txn->begin_ns);
}

static void *client_main(void *argument) {
  struct client *client = argument;
  struct rng rng = client_rng(client->load, client->number);
  struct txn txn;
  txn_init(&txn);
  while (!atomic_load(&client->load->stopping)) {
    client_request(client, &txn, &rng);
    sleep_us(rng_between(&rng, THINK_LOW_US, THINK_HIGH_US));
  }
  txn_destroy(&txn);
  return NULL;
}

void load_start(struct load *load) {
  load->clients = allocate(load->client_count, sizeof *load->clients);
  for (size_t i = 0; i < load->client_count; i++) {
    struct client *client = &load->clients[i];
    client->load = load;
    client->number = i + 1;
    client->thread = thread_start(client_main, client);
  }
}

int64_t *load_stop(struct load *load, size_t *count) {
  int64_t *all = NULL;
  *count = 0;
  atomic_store(&load->stopping, true);
  for (size_t i = 0; i < load->client_count; i++) {
    struct client *client = &load->clients[i];
    pthread_join(client->thread, NULL);
    all = reallocate(all, *count + client->count, sizeof *all);
    memcpy(all + *count, client->latencies_ns, client->count * sizeof *all);
    *count += client->count;
    release(client->latencies_ns);
  }
  release(load->clients);
  return all;
}

uint64_t load_checksum(const struct load *load) {
  uint64_t sum = 0;
  for (size_t client = 1; client <= load->client_count; client++) {
    struct rng rng = client_rng(load, client);
    for (unsigned i = 0; i < CHECKED_REQUESTS; i++) {
      struct txn txn;
      draw_request(&txn, load, &rng);
      sum = (sum ^ txn.accounts[0] ^ (uint64_t)txn.amount ^ txn.work.audit_rounds) * 1099511628211u;
      sum ^= (uint64_t)txn.work.compress_passes << 32 ^ txn.work.evict_sweeps;
      sum = (sum ^ txn.work.version_rounds ^ txn.work.scan_rounds) * 1099511628211u ^ txn.work.sort_passes;
      rng_between(&rng, THINK_LOW_US, THINK_HIGH_US);
    }
  }
  return sum;
}
