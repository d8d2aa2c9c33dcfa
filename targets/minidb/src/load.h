/* load.h: the load: clients, each of which submits a transaction and waits for its end. In a closed loop it thinks
 * before the next one; in an open loop it takes the next arrival (arrivals.h). */
#ifndef MINIDB_LOAD_H
#define MINIDB_LOAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "arrivals.h"
#include "engine.h"
#include "requests.h"

struct load {
  struct engine *engine;
  struct requests requests;
  uint64_t seed;
  double rate; /* arrivals a second in an open loop; 0: a closed one */
  size_t client_count;
  int replies;        /* descriptor of the file for the LSNs that clients are told of; -1: none */
  size_t stall_every; /* one transaction in so many stalls; 0: none */
  FILE *slow;         /* where what took long is told; NULL: nowhere */
  struct client *clients;
  struct arrivals arrivals;
  atomic_size_t begun; /* transactions so far */
  atomic_bool stopping;
};

/* Starts the clients. `load->engine` to `load->slow` are set; the load must stay where it is until load_stop.
 */
void load_start(struct load *load);

/* Lets every client finish its transaction and ends it. Returns all latencies in nanoseconds, in no order, to be
 * given to release(); `*count` is their number. */
int64_t *load_stop(struct load *load, size_t *count);

/* A checksum of the first requests, of every client or of those that arrive: the same for the same seed, clients, kind
 * of loop and requests. */
uint64_t load_checksum(const struct load *load);

#endif
