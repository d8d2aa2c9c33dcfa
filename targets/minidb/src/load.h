/* load.h: the load: clients in a closed loop. Each one submits a transaction, waits for its end, and thinks. */
#ifndef MINIDB_LOAD_H
#define MINIDB_LOAD_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "pathology.h"

struct load {
  struct engine *engine;
  const struct pathology *pathology;
  unsigned amount; /* of planted work, in percent */
  uint64_t seed;
  size_t rows;
  size_t client_count;
  struct client *clients;
  atomic_bool stopping;
};

/* Starts the clients. `load->engine` to `load->client_count` are set; the load must stay where it is until load_stop.
 */
void load_start(struct load *load);

/* Lets every client finish its transaction and ends it. Returns all latencies in nanoseconds, in no order, to be
 * given to release(); `*count` is their number. */
int64_t *load_stop(struct load *load, size_t *count);

/* A checksum of the first requests of every client: the same for the same seed, clients, rows, pathology and amount.
 */
uint64_t load_checksum(const struct load *load);

#endif
