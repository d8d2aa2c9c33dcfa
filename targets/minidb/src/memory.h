/* memory.h: allocation that succeeds or ends the program with one line: the demo has nothing to save. */
#ifndef MINIDB_MEMORY_H
#define MINIDB_MEMORY_H

#include <stddef.h>

/* `count` zeroed elements of `size` bytes. */
void *allocate(size_t count, size_t size);

/* As realloc, for `count` elements of `size` bytes. */
void *reallocate(void *memory, size_t count, size_t size);

void release(void *memory);

#endif
