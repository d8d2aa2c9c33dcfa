/* buffer_pool.h: which pages are in memory, kept on one LRU list under one mutex. All functions are thread-safe.
 *
 * The pool only decides residency: the rows themselves always stay in memory (table.h).
 *
 * A lazy pool does not let a thread wait long for the mutex to touch a page that is resident: after 10 us of spinning
 * the touch goes into the thread's backlog (lru_backlog.h), which whoever gets the mutex next works off first. Pages
 * that were evicted meanwhile are skipped. A thread whose backlog is full waits, as does one whose page has to be read.
 */
#ifndef MINIDB_BUFFER_POOL_H
#define MINIDB_BUFFER_POOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame {
  struct frame *hotter;
  struct frame *colder;
  size_t page;
  unsigned usage; /* touches, aged by sweeps */
};

typedef struct frame *_Atomic resident_frame;

struct buffer_pool {
  bool lazy;
  pthread_mutex_t lru_mutex; /* protects everything below */
  struct frame *frames;
  size_t frame_count;
  struct frame *hottest;
  struct frame *coldest;
  resident_frame *resident; /* per page: its frame, or NULL; whoever only looks needs no mutex */
};

/* A pool with room for half of `pages`, filled with the first of them. */
void buffer_pool_init(struct buffer_pool *pool, size_t pages, bool lazy);
void buffer_pool_destroy(struct buffer_pool *pool);

/* Makes `page` resident and the hottest, the latter perhaps later. If another page has to leave, `*sweeps` is how long
 * the search for it takes; it is 1 afterwards. */
void page_fetch(struct buffer_pool *pool, size_t page, unsigned *sweeps);

/* Touches what the calling thread has put off. A thread that has used the pool calls this at its end. */
void buffer_pool_thread_end(struct buffer_pool *pool);

#endif
