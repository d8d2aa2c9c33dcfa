/* lock_manager.h: row locks for strict two-phase locking, shared or exclusive. All functions are thread-safe.
 *
 * A transaction collects locks in its lock_owner and gives all of them back after its commit is durable. A request is
 * granted at once if nobody holds the row, or if it shares, the holders do, and nobody waits. Else it waits until
 * nobody holds the row; then the policy (lock_policy.h) decides. There is no deadlock detection: owners must lock rows
 * in ascending order, and each row once. */
#ifndef MINIDB_LOCK_MANAGER_H
#define MINIDB_LOCK_MANAGER_H

#include "lock_policy.h"
#include "lock_table.h"

struct lock_manager {
  pthread_mutex_t mutex; /* protects the rest, and all owners' requests */
  struct lock_table table;
  const struct lock_policy *policy;
  struct rng random;                 /* of the policy `rs` */
  struct lock_candidate *candidates; /* room for a decision */
  size_t room;
};

/* `seed`: of what is random in the policy, which draws as vprof.scheduling's does for the same seed. */
void lock_manager_init(struct lock_manager *manager, size_t rows, const struct lock_policy *policy, uint64_t seed);
void lock_manager_destroy(struct lock_manager *manager);

void lock_owner_init(struct lock_owner *owner);
void lock_owner_destroy(struct lock_owner *owner);

/* Returns when the lock is granted. REQUIRES: the order above, and room in the owner. */
void lock_acquire(struct lock_manager *manager, struct lock_owner *owner, size_t row, enum lock_mode mode);

/* Gives back all locks of the owner and grants what has become possible. */
void lock_release_all(struct lock_manager *manager, struct lock_owner *owner);

#endif
