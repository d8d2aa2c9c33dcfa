#include "load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "spin.h"
#include "thread.h"

enum { THINK_LOW_US = 2000, THINK_HIGH_US = 5000, CHECKED_REQUESTS = 100, STALL_US = 40000, SLOW_NS = 20000000 };

struct client {
  struct load *load;
  uint64_t number; /* from 1 */
  pthread_t thread;
  int64_t *latencies_ns;
  size_t count;
  size_t capacity;
};

static void note_latency(struct client *client, int64_t latency_ns) {
  if (client->count == client->capacity) {
    client->capacity = client->capacity ? 2 * client->capacity : 1024;
    client->latencies_ns = reallocate(client->latencies_ns, client->capacity, sizeof *client->latencies_ns);
  }
  client->latencies_ns[client->count++] = latency_ns;
}

/* What a client was told must survive the program, whichever way that ends: it is out of it when this returns. */
static void note_reply(int replies, uint64_t lsn) {
  if (replies < 0 || !lsn || write(replies, &lsn, sizeof lsn) == sizeof lsn) return;
  perror("minidb: cannot write replies");
  exit(1);
}

/* The truth for whoever looks for slow transactions from outside. */
static void note_slow(FILE *slow, const struct txn *txn) {
  int64_t took_ns = txn->end_ns - txn->begin_ns;
  if (!slow || (took_ns <= SLOW_NS && !txn->work.stall_us)) return;
  fprintf(slow, "%s %" PRIu64 " %" PRId64 "\n", txn->work.stall_us ? "stall" : "slow", txn->id, took_ns);
}

static void client_request(struct client *client, struct txn *txn, int64_t begin_ns) {
  txn->id = client->number << 40 | (client->count + 1);
  size_t turn = atomic_fetch_add(&client->load->begun, 1) + 1;
  txn->work.stall_us = client->load->stall_every && turn % client->load->stall_every == 0 ? STALL_US : 0;
  txn_begin(txn, begin_ns);
  engine_submit(client->load->engine, txn);
  txn_await_reply(txn);
  note_reply(client->load->replies, txn->lsn);
  note_slow(client->load->slow, txn);
  note_latency(client, txn->end_ns - txn->begin_ns);
}

/* Each client has a stream of requests. */
static void closed_loop(struct client *client, struct txn *txn) {
  struct load *load = client->load;
  struct rng rng = rng_make(load->seed, client->number);
  while (!atomic_load(&load->stopping)) {
    requests_draw(&load->requests, txn, &rng);
    client_request(client, txn, now_ns());
    sleep_us(rng_between(&rng, THINK_LOW_US, THINK_HIGH_US));
  }
}

/* Each arrival has its request, whichever client takes it. */
static void open_loop(struct client *client, struct txn *txn) {
  struct load *load = client->load;
  struct arrival arrival;
  while (arrivals_await(&load->arrivals, &arrival)) {
    struct rng rng = rng_make(load->seed, arrival.number);
    requests_draw(&load->requests, txn, &rng);
    client_request(client, txn, arrival.time_ns);
  }
}

static void *client_main(void *argument) {
  struct client *client = argument;
  struct txn txn;
  txn_init(&txn);
  if (client->load->rate > 0) {
    open_loop(client, &txn);
  } else {
    closed_loop(client, &txn);
  }
  txn_destroy(&txn);
  return NULL;
}

void load_start(struct load *load) {
  if (load->rate > 0) arrivals_init(&load->arrivals, load->rate, load->seed, now_ns());
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
  if (load->rate > 0) arrivals_stop(&load->arrivals);
  for (size_t i = 0; i < load->client_count; i++) {
    struct client *client = &load->clients[i];
    pthread_join(client->thread, NULL);
    all = reallocate(all, *count + client->count, sizeof *all);
    memcpy(all + *count, client->latencies_ns, client->count * sizeof *all);
    *count += client->count;
    release(client->latencies_ns);
  }
  if (load->rate > 0) arrivals_destroy(&load->arrivals);
  release(load->clients);
  return all;
}

static uint64_t checksum_of_clients(const struct load *load) {
  uint64_t sum = 0;
  for (size_t client = 1; client <= load->client_count; client++) {
    struct rng rng = rng_make(load->seed, client);
    for (unsigned i = 0; i < CHECKED_REQUESTS; i++) {
      struct txn txn;
      requests_draw(&load->requests, &txn, &rng);
      sum = requests_checksum(sum, &txn);
      rng_between(&rng, THINK_LOW_US, THINK_HIGH_US);
    }
  }
  return sum;
}

static uint64_t checksum_of_arrivals(const struct load *load) {
  uint64_t sum = 0;
  for (uint64_t number = 1; number <= CHECKED_REQUESTS; number++) {
    struct rng rng = rng_make(load->seed, number);
    struct txn txn;
    requests_draw(&load->requests, &txn, &rng);
    sum = requests_checksum(sum, &txn);
  }
  return sum;
}

uint64_t load_checksum(const struct load *load) {
  return load->rate > 0 ? checksum_of_arrivals(load) : checksum_of_clients(load);
}
