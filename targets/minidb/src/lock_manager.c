#include "lock_manager.h"

#include "memory.h"

void lock_manager_init(struct lock_manager *manager, size_t rows, const struct lock_policy *policy, uint64_t seed) {
  *manager = (struct lock_manager){.policy = policy, .random = {seed}};
  pthread_mutex_init(&manager->mutex, NULL);
  manager->table.rows = allocate(rows, sizeof *manager->table.rows);
}

void lock_manager_destroy(struct lock_manager *manager) {
  pthread_mutex_destroy(&manager->mutex);
  release(manager->table.rows);
  release(manager->candidates);
}

void lock_owner_init(struct lock_owner *owner) {
  *owner = (struct lock_owner){0};
  pthread_cond_init(&owner->granted, NULL);
}

void lock_owner_destroy(struct lock_owner *owner) {
  pthread_cond_destroy(&owner->granted);
}

static bool is_free(const struct lock_row *row, enum lock_mode mode) {
  if (!row->holders) return true;
  return mode == LOCK_SHARED && row->holders->mode == LOCK_SHARED && !row->waiters;
}

static void lock_hold(struct lock_row *row, struct lock_request *request) {
  lock_list_append(&row->holders, request);
  request->granted = true;
}

/* The waiters that the policy may choose from: all, or those before the barrier, which is set anew, at the end of the
 * queue, when nobody is before it. */
static size_t count_ahead(struct lock_row *row, const struct lock_policy *policy) {
  if (!policy->starves) return lock_list_length(row->waiters);
  if (!row->ahead) row->ahead = lock_list_length(row->waiters);
  return row->ahead;
}

static struct lock_choice lock_choice_of(struct lock_manager *manager, struct lock_row *row) {
  size_t count = count_ahead(row, manager->policy);
  if (count > manager->room) {
    manager->room = 2 * count;
    manager->candidates = reallocate(manager->candidates, manager->room, sizeof *manager->candidates);
  }
  struct lock_request *waiter = row->waiters;
  for (size_t i = 0; i < count; i++, waiter = waiter->next) {
    manager->candidates[i] = (struct lock_candidate){.request = waiter, .place = i};
  }
  return (struct lock_choice){&manager->table, &manager->random, manager->candidates, count};
}

/* REQUIRES: nobody holds the row, and somebody waits for it. */
static void lock_grant(struct lock_manager *manager, struct lock_row *row) {
  struct lock_choice choice = lock_choice_of(manager, row);
  size_t granted = manager->policy->grant(&choice);
  for (size_t i = 0; i < granted; i++) {
    struct lock_request *request = choice.waiters[i].request;
    lock_list_remove(&row->waiters, request);
    lock_hold(row, request);
    pthread_cond_signal(&request->owner->granted);
  }
  if (manager->policy->starves) row->ahead -= granted;
}

static void lock_wait(struct lock_manager *manager, struct lock_request *request) {
  while (!request->granted) {
    pthread_cond_wait(&request->owner->granted, &manager->mutex);
  }
}

void lock_acquire(struct lock_manager *manager, struct lock_owner *owner, size_t row, enum lock_mode mode) {
  pthread_mutex_lock(&manager->mutex);
  struct lock_request *request = &owner->requests[owner->count++];
  *request = (struct lock_request){.owner = owner, .row = row, .mode = mode};
  struct lock_row *wanted = &manager->table.rows[row];
  if (is_free(wanted, mode)) {
    lock_hold(wanted, request);
  } else {
    lock_list_append(&wanted->waiters, request);
    lock_wait(manager, request);
  }
  pthread_mutex_unlock(&manager->mutex);
}

void lock_release_all(struct lock_manager *manager, struct lock_owner *owner) {
  pthread_mutex_lock(&manager->mutex);
  size_t count = owner->count;
  owner->count = 0; /* policies see it hold nothing any more */
  for (size_t i = 0; i < count; i++) {
    struct lock_row *row = &manager->table.rows[owner->requests[i].row];
    lock_list_remove(&row->holders, &owner->requests[i]);
    if (!row->holders && row->waiters) lock_grant(manager, row);
  }
  pthread_mutex_unlock(&manager->mutex);
}
