/* Memory for what a driver cannot do without. */
#ifndef VPROF_DB_MEMORY_H
#define VPROF_DB_MEMORY_H

#include <stddef.h>

/* Zeroed. Where there is none the program says so and exits, with code 1. */
void *allocate(size_t count, size_t size);
void *reallocate(void *old, size_t size);
char *copy_text(const char *text);

#endif
