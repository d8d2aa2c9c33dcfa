#include "memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_exit(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "vprof-load-driver: out of memory\n");
  exit(1);
}

void *allocate(size_t count, size_t size) {
  return or_exit(calloc(count, size));
}

void *reallocate(void *old, size_t size) {
  return or_exit(realloc(old, size));
}

char *copy_text(const char *text) {
  return or_exit(strdup(text));
}
