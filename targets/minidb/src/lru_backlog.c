#include "lru_backlog.h"

struct lru_backlog *lru_backlog_mine(void) {
  static _Thread_local struct lru_backlog mine;
  return &mine;
}

bool lru_backlog_add(struct lru_backlog *backlog, size_t page) {
  for (size_t i = 0; i < backlog->count; i++) {
    if (backlog->pages[i] == page) return true;
  }
  if (backlog->count == LRU_BACKLOG) return false;
  backlog->pages[backlog->count++] = page;
  return true;
}
