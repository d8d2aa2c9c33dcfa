#include "lock_graph.h"

uint64_t lock_graph_walk(struct lock_table *table) {
  return ++table->walks;
}

/* Those that wait for what `request` holds; NULL if it waits itself. */
static struct lock_request *waiters_for(const struct lock_table *table, const struct lock_request *request) {
  return request->granted ? table->rows[request->row].waiters : NULL;
}

size_t lock_graph_join(const struct lock_table *table, struct lock_owner *owner, uint64_t walk) {
  if (owner->seen == walk) return 0;
  owner->seen = walk;
  size_t found = 1;
  for (size_t i = 0; i < owner->count; i++) {
    for (struct lock_request *waiter = waiters_for(table, &owner->requests[i]); waiter; waiter = waiter->next) {
      found += lock_graph_join(table, waiter->owner, walk);
    }
  }
  return found;
}

size_t lock_graph_depth(const struct lock_table *table, struct lock_owner *owner, uint64_t walk) {
  if (owner->seen == walk) return owner->depth;
  owner->seen = walk;
  size_t below = 0;
  for (size_t i = 0; i < owner->count; i++) {
    for (struct lock_request *waiter = waiters_for(table, &owner->requests[i]); waiter; waiter = waiter->next) {
      size_t depth = lock_graph_depth(table, waiter->owner, walk);
      if (depth > below) below = depth;
    }
  }
  return owner->depth = 1 + below;
}

size_t lock_graph_held(const struct lock_owner *owner) {
  size_t held = 0;
  for (size_t i = 0; i < owner->count; i++) held += owner->requests[i].granted;
  return held;
}

size_t lock_graph_blocking(const struct lock_table *table, const struct lock_owner *owner) {
  size_t blocking = 0;
  for (size_t i = 0; i < owner->count; i++) blocking += waiters_for(table, &owner->requests[i]) != NULL;
  return blocking;
}
