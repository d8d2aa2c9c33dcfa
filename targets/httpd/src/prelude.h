/* Seen first by every file of httpd's build. */
#ifndef VPROF_HTTPD_PRELUDE_H
#define VPROF_HTTPD_PRELUDE_H

#include <stdint.h>
#include <unistd.h>

/* For the descriptor's entries: a number for a connection's pool that no other process has. Pools are at multiples
 * of 8, below 2^47. */
#define CONNECTION(pool) (((uint64_t)getpid() << 44) ^ ((uint64_t)(uintptr_t)(pool) >> 3))

/* Debian's patches have these from its packaging. */
#define PLATFORM "Debian"
#define BUILD_DATETIME ""

#endif
