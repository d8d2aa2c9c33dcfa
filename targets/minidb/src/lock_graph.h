/* lock_graph.h: who waits for whom, and what policies measure of it.
 *
 * An owner waits directly for all that hold the row it waits for. g(owner) is the set of all that wait for it, directly
 * or through others, and itself. There are no circles: rows are locked in ascending order. A walk has a number, which
 * the owners bear that it has seen, so nothing has to be cleared. REQUIRES: the lock manager's mutex is held. */
#ifndef MINIDB_LOCK_GRAPH_H
#define MINIDB_LOCK_GRAPH_H

#include "lock_table.h"

/* The number of a new walk, which has seen nobody. */
uint64_t lock_graph_walk(struct lock_table *table);

/* How many of g(owner) the walk had not seen; now it has. */
size_t lock_graph_join(const struct lock_table *table, struct lock_owner *owner, uint64_t walk);

/* How many owners the longest chain of waiters has that ends in this one, itself included. */
size_t lock_graph_depth(const struct lock_table *table, struct lock_owner *owner, uint64_t walk);

/* How many rows it holds, and how many of them somebody waits for. */
size_t lock_graph_held(const struct lock_owner *owner);
size_t lock_graph_blocking(const struct lock_table *table, const struct lock_owner *owner);

#endif
