#include "queue.h"

void queue_init(struct queue *queue) {
  *queue = (struct queue){0};
  pthread_mutex_init(&queue->mutex, NULL);
  pthread_cond_init(&queue->filled, NULL);
}

void queue_destroy(struct queue *queue) {
  pthread_mutex_destroy(&queue->mutex);
  pthread_cond_destroy(&queue->filled);
}

void queue_push(struct queue *queue, struct txn *txn) {
  txn->next = NULL;
  pthread_mutex_lock(&queue->mutex);
  if (queue->first) {
    queue->last->next = txn;
  } else {
    queue->first = txn;
  }
  queue->last = txn;
  pthread_cond_signal(&queue->filled);
  pthread_mutex_unlock(&queue->mutex);
}

struct txn *queue_pop(struct queue *queue) {
  pthread_mutex_lock(&queue->mutex);
  while (!queue->first && !queue->closed) pthread_cond_wait(&queue->filled, &queue->mutex);
  struct txn *txn = queue->first;
  if (txn) queue->first = txn->next;
  pthread_mutex_unlock(&queue->mutex);
  return txn;
}

void queue_close(struct queue *queue) {
  pthread_mutex_lock(&queue->mutex);
  queue->closed = true;
  pthread_cond_broadcast(&queue->filled);
  pthread_mutex_unlock(&queue->mutex);
}
