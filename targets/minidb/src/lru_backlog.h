/* lru_backlog.h: touches of pages that a thread has put off, since the LRU list was busy (thesis section 3.4.1). Each
 * thread has one for the pool, which nobody else sees. */
#ifndef MINIDB_LRU_BACKLOG_H
#define MINIDB_LRU_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

enum { LRU_BACKLOG = 32 };

struct lru_backlog {
  size_t pages[LRU_BACKLOG]; /* oldest touch first; each page once */
  size_t count;
};

/* The calling thread's. */
struct lru_backlog *lru_backlog_mine(void);

/* False: there is no room. A page that is there already stays where it is. */
bool lru_backlog_add(struct lru_backlog *backlog, size_t page);

#endif
