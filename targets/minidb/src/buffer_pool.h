/* buffer_pool.h: which pages are in memory, kept on one LRU list under one mutex. All functions are thread-safe.
 *
 * The pool only decides residency: the rows themselves always stay in memory (table.h). */
#ifndef MINIDB_BUFFER_POOL_H
#define MINIDB_BUFFER_POOL_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
  struct frame *hotter;
  struct frame *colder;
  size_t page;
  unsigned usage; /* touches, aged by sweeps */
};

struct buffer_pool {
  pthread_mutex_t lru_mutex; /* protects everything below */
  struct frame *frames;
  size_t frame_count;
  struct frame *hottest;
  struct frame *coldest;
  struct frame **resident; /* per page: its frame, or NULL */
};

/* A pool with room for half of `pages`, filled with the first of them. */
void buffer_pool_init(struct buffer_pool *pool, size_t pages);
void buffer_pool_destroy(struct buffer_pool *pool);

/* Makes `page` resident and the hottest. If another page has to leave, `*sweeps` is how long the search for it takes;
 * it is 1 afterwards. */
void page_fetch(struct buffer_pool *pool, size_t page, unsigned *sweeps);

#endif
