/* lock_table.h: who holds which row, and who waits for it.
 *
 *     lock_owner -> its requests, each for one row -> lock_row -> the requests that hold it, and those that wait
 *
 * Nothing here is thread-safe: lock_manager.h protects all of it by one mutex. */
#ifndef MINIDB_LOCK_TABLE_H
#define MINIDB_LOCK_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_LOCKS = 8 };

enum lock_mode { LOCK_SHARED, LOCK_EXCLUSIVE };

struct lock_request {
  struct lock_owner *owner;
  struct lock_request *next; /* in the list of its row, holders or waiters */
  size_t row;
  enum lock_mode mode;
  bool granted;
};

struct lock_owner {
  int64_t born_ns; /* of its transaction */
  pthread_cond_t granted;
  struct lock_request requests[MAX_LOCKS];
  size_t count;
  uint64_t seen; /* the last walk that came here, and the depth it found: lock_graph.c */
  size_t depth;
};

struct lock_row {
  struct lock_request *holders; /* in the order of their grants */
  struct lock_request *waiters; /* in the order of their arrival */
  size_t ahead;                 /* how many of the waiters are before the starvation barrier; 0: it is not set */
};

struct lock_table {
  struct lock_row *rows;
  uint64_t walks; /* through the graph of who waits for whom, so far */
};

void lock_list_append(struct lock_request **list, struct lock_request *request);

/* REQUIRES: the request is in the list. */
void lock_list_remove(struct lock_request **list, struct lock_request *request);

size_t lock_list_length(const struct lock_request *list);

#endif
