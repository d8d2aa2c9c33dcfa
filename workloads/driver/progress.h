/* A line a second to stderr while a run goes on: SECONDS FINISHED FAILED RETRIES BEHIND_MS. */
#ifndef VPROF_LOAD_PROGRESS_H
#define VPROF_LOAD_PROGRESS_H

#include "run.h"

struct progress_counts {
  int64_t finished;
  int64_t failed;
  int64_t retries;
};

struct progress {
  int64_t next_ns; /* 0: the first second has not begun */
  struct progress_counts told;
};

/* Prints a line if a second has gone by. */
void progress_tell(struct progress *progress, struct run *run);

#endif
