/* queue.h: the queue between clients and workers, first come, first served. All functions are thread-safe. */
#ifndef MINIDB_QUEUE_H
#define MINIDB_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "txn.h"

struct queue {
  pthread_mutex_t mutex;
  pthread_cond_t filled;
  struct txn *first;
  struct txn *last;
  bool closed;
};

void queue_init(struct queue *queue);
void queue_destroy(struct queue *queue);

void queue_push(struct queue *queue, struct txn *txn);

/* Waits for a transaction. NULL: the queue is closed and empty. */
struct txn *queue_pop(struct queue *queue);

void queue_close(struct queue *queue);

#endif
