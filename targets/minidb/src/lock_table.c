#include "lock_table.h"

void lock_list_append(struct lock_request **list, struct lock_request *request) {
  while (*list) list = &(*list)->next;
  request->next = NULL;
  *list = request;
}

void lock_list_remove(struct lock_request **list, struct lock_request *request) {
  while (*list != request) list = &(*list)->next;
  *list = request->next;
}

size_t lock_list_length(const struct lock_request *list) {
  size_t length = 0;
  for (; list; list = list->next) length++;
  return length;
}
