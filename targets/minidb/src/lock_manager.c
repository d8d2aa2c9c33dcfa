#include "lock_manager.h"

#include "memory.h"

void lock_manager_init(struct lock_manager *manager, size_t rows) {
  pthread_mutex_init(&manager->mutex, NULL);
  manager->queues = allocate(rows, sizeof *manager->queues);
}

void lock_manager_destroy(struct lock_manager *manager) {
  pthread_mutex_destroy(&manager->mutex);
  release(manager->queues);
}

void lock_owner_init(struct lock_owner *owner) {
  pthread_cond_init(&owner->granted, NULL);
  owner->count = 0;
}

void lock_owner_destroy(struct lock_owner *owner) {
  pthread_cond_destroy(&owner->granted);
}

static bool compatible(enum lock_mode a, enum lock_mode b) {
  return a == LOCK_SHARED && b == LOCK_SHARED;
}

/* Grants from the front of the queue up to the first request that must wait. */
static void lock_grant(struct lock_request *queue) {
  for (struct lock_request *request = queue; request; request = request->next) {
    if (request != queue && !compatible(queue->mode, request->mode)) return;
    if (!request->granted) {
      request->granted = true;
      pthread_cond_signal(&request->owner->granted);
    }
  }
}

static void lock_enqueue(struct lock_request **queue, struct lock_request *request) {
  while (*queue) queue = &(*queue)->next;
  *queue = request;
}

static void lock_dequeue(struct lock_request **queue, struct lock_request *request) {
  while (*queue != request) queue = &(*queue)->next;
  *queue = request->next;
}

static void lock_wait(struct lock_manager *manager, struct lock_request *request) {
  while (!request->granted) {
    pthread_cond_wait(&request->owner->granted, &manager->mutex);
  }
}

void lock_acquire(struct lock_manager *manager, struct lock_owner *owner, size_t row, enum lock_mode mode) {
  struct lock_request *request = &owner->requests[owner->count++];
  *request = (struct lock_request){.owner = owner, .row = row, .mode = mode};
  pthread_mutex_lock(&manager->mutex);
  lock_enqueue(&manager->queues[row], request);
  lock_grant(manager->queues[row]);
  lock_wait(manager, request);
  pthread_mutex_unlock(&manager->mutex);
}

void lock_release_all(struct lock_manager *manager, struct lock_owner *owner) {
  pthread_mutex_lock(&manager->mutex);
  for (size_t i = 0; i < owner->count; i++) {
    struct lock_request *request = &owner->requests[i];
    lock_dequeue(&manager->queues[request->row], request);
    lock_grant(manager->queues[request->row]);
  }
  pthread_mutex_unlock(&manager->mutex);
  owner->count = 0;
}
