#include "buffer_pool.h"

#include "lru_backlog.h"
#include "memory.h"
#include "spin.h"

enum { PAGE_READ_UNITS = 5, SPIN_NS = 10000 };

static void lru_unlink(struct buffer_pool *pool, struct frame *frame) {
  if (frame->hotter) {
    frame->hotter->colder = frame->colder;
  } else {
    pool->hottest = frame->colder;
  }
  if (frame->colder) {
    frame->colder->hotter = frame->hotter;
  } else {
    pool->coldest = frame->hotter;
  }
}

static void lru_push(struct buffer_pool *pool, struct frame *frame) {
  frame->hotter = NULL;
  frame->colder = pool->hottest;
  if (pool->hottest) {
    pool->hottest->hotter = frame;
  } else {
    pool->coldest = frame;
  }
  pool->hottest = frame;
}

static void lru_touch(struct buffer_pool *pool, struct frame *frame) {
  frame->usage++;
  lru_unlink(pool, frame);
  lru_push(pool, frame);
}

/* The least used frame, the coldest of several. Every sweep walks the whole list and ages it. The pathology `lru` is
 * here: the sweeps, while the LRU mutex is held. */
static struct frame *lru_evict_scan(struct buffer_pool *pool, unsigned sweeps) {
  struct frame *victim = pool->coldest;
  for (unsigned sweep = 0; sweep < sweeps; sweep++) {
    victim = pool->coldest;
    for (struct frame *frame = pool->coldest; frame; frame = frame->hotter) {
      frame->usage -= frame->usage / 8;
      if (frame->usage < victim->usage) victim = frame;
    }
  }
  return victim;
}

/* Brings a page in, in the place of another one. The read is short and always the same: the device is not what this
 * demo is about. */
static struct frame *page_read(struct buffer_pool *pool, size_t page, unsigned *sweeps) {
  struct frame *frame = lru_evict_scan(pool, *sweeps);
  *sweeps = 1;
  pool->resident[frame->page] = NULL;
  spin_work(PAGE_READ_UNITS);
  frame->page = page;
  frame->usage = 0;
  pool->resident[page] = frame;
  return frame;
}

static struct frame *frame_of(struct buffer_pool *pool, size_t page, unsigned *sweeps) {
  struct frame *frame = pool->resident[page];
  return frame ? frame : page_read(pool, page, sweeps);
}

/* Whether it got the mutex, within SPIN_NS. */
static bool lru_spin(struct buffer_pool *pool) {
  if (!pthread_mutex_trylock(&pool->lru_mutex)) return true;
  int64_t until = now_ns() + SPIN_NS;
  do {
    if (!pthread_mutex_trylock(&pool->lru_mutex)) return true;
  } while (now_ns() < until);
  return false;
}

/* True: it has the mutex. False: the page is resident, and its touch has been put off. */
static bool lru_enter(struct buffer_pool *pool, size_t page) {
  if (pool->lazy && atomic_load(&pool->resident[page])) {
    if (lru_spin(pool)) return true;
    if (lru_backlog_add(lru_backlog_mine(), page)) return false;
  }
  pthread_mutex_lock(&pool->lru_mutex);
  return true;
}

/* In the order in which they were put off. */
static void lru_work_off(struct buffer_pool *pool, struct lru_backlog *backlog) {
  for (size_t i = 0; i < backlog->count; i++) {
    struct frame *frame = pool->resident[backlog->pages[i]];
    if (frame) lru_touch(pool, frame);
  }
  backlog->count = 0;
}

void page_fetch(struct buffer_pool *pool, size_t page, unsigned *sweeps) {
  if (!lru_enter(pool, page)) return;
  lru_work_off(pool, lru_backlog_mine());
  lru_touch(pool, frame_of(pool, page, sweeps));
  pthread_mutex_unlock(&pool->lru_mutex);
}

void buffer_pool_thread_end(struct buffer_pool *pool) {
  pthread_mutex_lock(&pool->lru_mutex);
  lru_work_off(pool, lru_backlog_mine());
  pthread_mutex_unlock(&pool->lru_mutex);
}

void buffer_pool_init(struct buffer_pool *pool, size_t pages, bool lazy) {
  *pool = (struct buffer_pool){.lazy = lazy, .frame_count = pages / 2 + 1};
  pthread_mutex_init(&pool->lru_mutex, NULL);
  pool->frames = allocate(pool->frame_count, sizeof *pool->frames);
  pool->resident = allocate(pages, sizeof *pool->resident);
  for (size_t i = 0; i < pool->frame_count; i++) {
    pool->frames[i].page = i;
    pool->resident[i] = &pool->frames[i];
    lru_push(pool, &pool->frames[i]);
  }
}

void buffer_pool_destroy(struct buffer_pool *pool) {
  pthread_mutex_destroy(&pool->lru_mutex);
  release(pool->frames);
  release(pool->resident);
}
