#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

static void *checked(void *memory) {
  if (!memory) {
    fputs("minidb: out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

void *allocate(size_t count, size_t size) {
  return checked(calloc(count, size));
}

void *reallocate(void *memory, size_t count, size_t size) {
  return checked(realloc(memory, count ? count * size : 1)); /* of nothing, realloc may return no memory */
}

void release(void *memory) {
  free(memory);
}
