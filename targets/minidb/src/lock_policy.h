/* lock_policy.h: who gets a row when nobody holds it any more.
 *
 *     waiters in the order of arrival -> policy -> the same, those that are granted in front
 *
 * The policies are those of `vprof whatif --locks` (analyzer/vprof/scheduling/policies.py says what each does and where
 * it is from), so that what it predicts can be tried. Where two are equal by a policy's own measure, the one that
 * arrived earlier comes first. */
#ifndef MINIDB_LOCK_POLICY_H
#define MINIDB_LOCK_POLICY_H

#include "lock_table.h"
#include "rng.h"

/* A waiter as a policy sees it: `place` in the order of arrival, `size` as the policy measures it. */
struct lock_candidate {
  struct lock_request *request;
  size_t place;
  size_t size;
  uint64_t key; /* of the sort in progress */
};

/* What a policy may look at. `waiters` has `count` of them, at least one; a policy may sort them as it likes. */
struct lock_choice {
  struct lock_table *table;
  struct rng *random;
  struct lock_candidate *waiters;
  size_t count;
};

struct lock_policy {
  const char *name;
  /* A request might wait for ever while others come: the starvation barrier belongs to the policy. Requests that come
   * after the waiters were last counted wait until all of these are granted. */
  bool starves;
  /* How many are granted, at least one; they are the first of `waiters` then, in the order in which they are taken. */
  size_t (*grant)(struct lock_choice *choice);
};

#define LOCK_POLICY_NAMES "fcfs, fifo, rs, vats, vats-theory, ldsf, bldsf, mlf, mblf or ddf"

/* NULL if there is no such policy. */
const struct lock_policy *lock_policy_find(const char *name);

#endif
