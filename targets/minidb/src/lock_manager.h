/* lock_manager.h: row locks for strict two-phase locking, shared or exclusive, granted first come, first served.
 *
 * A transaction collects locks in its lock_owner and gives all of them back after its commit is durable. There is no
 * deadlock detection: owners must lock rows in ascending order, and each row once. */
#ifndef MINIDB_LOCK_MANAGER_H
#define MINIDB_LOCK_MANAGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum { MAX_LOCKS = 4 };

enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };

struct lock_request {
  struct lock_owner *owner;
  struct lock_request *next; /* later request for the same row */
  size_t row;
  enum lock_mode mode;
  bool granted;
};

struct lock_owner {
  pthread_cond_t granted;
  struct lock_request requests[MAX_LOCKS];
  size_t count;
};

struct lock_manager {
  pthread_mutex_t mutex;        /* protects all queues */
  struct lock_request **queues; /* per row, oldest first; the granted ones are in front */
};

void lock_manager_init(struct lock_manager *manager, size_t rows);
void lock_manager_destroy(struct lock_manager *manager);

void lock_owner_init(struct lock_owner *owner);
void lock_owner_destroy(struct lock_owner *owner);

/* Returns when the lock is granted. REQUIRES: the order above, and room in the owner. */
void lock_acquire(struct lock_manager *manager, struct lock_owner *owner, size_t row, enum lock_mode mode);

/* Gives back all locks of the owner and grants what has become possible. */
void lock_release_all(struct lock_manager *manager, struct lock_owner *owner);

#endif
