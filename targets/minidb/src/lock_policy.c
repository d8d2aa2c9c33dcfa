#include "lock_policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lock_graph.h"

static bool shares(const struct lock_candidate *waiter) {
  return waiter->request->mode == LOCK_SHARED;
}

static int by_key(const void *a, const void *b) {
  const struct lock_candidate *left = a, *right = b;
  if (left->key != right->key) return left->key < right->key ? -1 : 1;
  return left->place < right->place ? -1 : 1;
}

static void sort_by_key(struct lock_candidate *waiters, size_t count) {
  qsort(waiters, count, sizeof *waiters, by_key);
}

/* The one at `place` in the array, alone. */
static size_t take_one(struct lock_choice *choice, size_t place) {
  choice->waiters[0] = choice->waiters[place];
  return 1;
}

/* All that share, in the order of arrival; behind them the others. */
static size_t take_shared(struct lock_choice *choice) {
  size_t shared = 0;
  for (size_t i = 0; i < choice->count; i++) {
    choice->waiters[i].key = !shares(&choice->waiters[i]);
    shared += shares(&choice->waiters[i]);
  }
  sort_by_key(choice->waiters, choice->count);
  return shared;
}

/* That one, and if it shares, all that do. */
static size_t take_with_shared(struct lock_choice *choice, size_t place) {
  return shares(&choice->waiters[place]) ? take_shared(choice) : take_one(choice, place);
}

/* From the front: the first if it is exclusive, else all that share in front of the first that is exclusive. */
static size_t take_until_conflict(struct lock_choice *choice) {
  size_t taken = 0;
  while (taken < choice->count && shares(&choice->waiters[taken])) taken++;
  return taken ? taken : 1;
}

static size_t grant_fcfs(struct lock_choice *choice) {
  return take_with_shared(choice, 0);
}

static size_t grant_fifo(struct lock_choice *choice) {
  return take_until_conflict(choice);
}

static size_t grant_rs(struct lock_choice *choice) {
  for (size_t i = 0; i < choice->count; i++) choice->waiters[i].key = rng_next(choice->random);
  sort_by_key(choice->waiters, choice->count);
  return take_until_conflict(choice);
}

static void sort_by_age(struct lock_choice *choice) {
  for (size_t i = 0; i < choice->count; i++) {
    choice->waiters[i].key = (uint64_t)choice->waiters[i].request->owner->born_ns;
  }
  sort_by_key(choice->waiters, choice->count);
}

static size_t grant_vats(struct lock_choice *choice) {
  sort_by_age(choice);
  return take_until_conflict(choice);
}

static size_t grant_vats_theory(struct lock_choice *choice) {
  sort_by_age(choice);
  return take_one(choice, 0);
}

/* By `size` the first of the largest of waiters[from] and those behind it; `count` if there is none. */
static size_t largest(const struct lock_choice *choice, size_t from) {
  size_t best = from;
  for (size_t i = from; i < choice->count; i++) {
    if (choice->waiters[i].size > choice->waiters[best].size) best = i;
  }
  return best;
}

static void measure_dependents(struct lock_choice *choice) {
  for (size_t i = 0; i < choice->count; i++) {
    struct lock_candidate *waiter = &choice->waiters[i];
    waiter->size = lock_graph_join(choice->table, waiter->request->owner, lock_graph_walk(choice->table));
  }
}

/* The size of the union of g over the first `shared`. */
static size_t dependents_together(struct lock_choice *choice, size_t shared) {
  uint64_t walk = lock_graph_walk(choice->table);
  size_t together = 0;
  for (size_t i = 0; i < shared; i++) {
    together += lock_graph_join(choice->table, choice->waiters[i].request->owner, walk);
  }
  return together;
}

static size_t grant_ldsf(struct lock_choice *choice) {
  measure_dependents(choice);
  size_t shared = take_shared(choice), best = largest(choice, shared);
  bool exclusive = best < choice->count && choice->waiters[best].size > dependents_together(choice, shared);
  return exclusive ? take_one(choice, best) : shared;
}

/* How many of the first `shared`, largest g first, make progress fastest, if k of them take log2(1 + k) times as long
 * as one; `*speed` is how fast. */
static size_t fastest_batch(struct lock_choice *choice, size_t shared, double *speed) {
  for (size_t i = 0; i < shared; i++) choice->waiters[i].key = UINT64_MAX - choice->waiters[i].size;
  sort_by_key(choice->waiters, shared);
  size_t best = 0, total = 0;
  *speed = 0;
  for (size_t k = 1; k <= shared; k++) {
    total += choice->waiters[k - 1].size;
    double now = (double)total / log2(1 + (double)k);
    if (now <= *speed) continue;
    *speed = now;
    best = k;
  }
  return best;
}

static size_t grant_bldsf(struct lock_choice *choice) {
  measure_dependents(choice);
  size_t shared = take_shared(choice), best = largest(choice, shared);
  double speed;
  size_t batch = fastest_batch(choice, shared, &speed);
  bool exclusive = best < choice->count && (double)choice->waiters[best].size > speed;
  return exclusive ? take_one(choice, best) : batch;
}

static size_t grant_mlf(struct lock_choice *choice) {
  for (size_t i = 0; i < choice->count; i++) {
    choice->waiters[i].size = lock_graph_held(choice->waiters[i].request->owner);
  }
  return take_with_shared(choice, largest(choice, 0));
}

static size_t grant_mblf(struct lock_choice *choice) {
  for (size_t i = 0; i < choice->count; i++) {
    choice->waiters[i].size = lock_graph_blocking(choice->table, choice->waiters[i].request->owner);
  }
  return take_with_shared(choice, largest(choice, 0));
}

static size_t grant_ddf(struct lock_choice *choice) {
  uint64_t walk = lock_graph_walk(choice->table);
  for (size_t i = 0; i < choice->count; i++) {
    choice->waiters[i].size = lock_graph_depth(choice->table, choice->waiters[i].request->owner, walk);
  }
  return take_with_shared(choice, largest(choice, 0));
}

static const struct lock_policy policies[] = {
    {.name = "fcfs", .grant = grant_fcfs},
    {.name = "fifo", .grant = grant_fifo},
    {.name = "rs", .grant = grant_rs},
    {.name = "vats", .grant = grant_vats},
    {.name = "vats-theory", .grant = grant_vats_theory},
    {.name = "ldsf", .grant = grant_ldsf, .starves = true},
    {.name = "bldsf", .grant = grant_bldsf, .starves = true},
    {.name = "mlf", .grant = grant_mlf, .starves = true},
    {.name = "mblf", .grant = grant_mblf, .starves = true},
    {.name = "ddf", .grant = grant_ddf, .starves = true},
};

const struct lock_policy *lock_policy_find(const char *name) {
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    if (strcmp(policies[i].name, name) == 0) return &policies[i];
  }
  return NULL;
}
