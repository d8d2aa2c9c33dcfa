/* A thread that should wake each millisecond and records when it did: pauses of the machine and of the driver, which
 * are no fault of the server. What a pause made it miss it records afterwards, tick by tick.
 */
#ifndef VPROF_LOAD_LATENESS_H
#define VPROF_LOAD_LATENESS_H

#include "latency_file.h"

struct lateness {
  pthread_t thread;
  struct latency_block *filling; /* the thread's own */
  pthread_mutex_t mutex;         /* protects `other` */
  struct latency_block *other;   /* full or empty; NULL: being written */
  struct latency_file *file;
  uint32_t type;
  int64_t begin_ns;
  const _Atomic int64_t *end_ns;
  const atomic_bool *stop;
};

/* Of the ticks from begin_ns to *end_ns, which may become earlier. Returns 0, or an errno. */
int lateness_start(struct lateness *lateness, struct latency_file *file, uint32_t type, int64_t begin_ns,
                   const _Atomic int64_t *end_ns, const atomic_bool *stop);
/* Writes a full block. Due twice in the time that fills one, half a second, so that the thread never waits for the
 * disk.
 */
void lateness_write(struct lateness *lateness);
void lateness_join(struct lateness *lateness);

#endif
