/* One run of a load: what its clients share, and how it begins and ends.
 *
 * A run has a first intended start, the beginning of what counts (warm-up over), and an end. The end may become
 * earlier: a signal, a server that is lost, a disk that is full. What has begun then is waited for a little, what has
 * not begun although it should have is recorded as unfinished.
 */
#ifndef VPROF_LOAD_RUN_H
#define VPROF_LOAD_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "arrivals.h"
#include "latency_file.h"
#include "lateness.h"
#include "mix.h"
#include "options.h"

struct run {
  const struct driver_options *options;
  struct mix mix;
  struct arrivals arrivals; /* of an open loop */
  struct latency_file file;
  struct lateness lateness;
  struct client_thread *threads;
  int thread_count;       /* that were started */
  pthread_barrier_t gate; /* all threads are there, and the times are set */
  int64_t first_ns;
  int64_t begin_ns;
  _Atomic int64_t end_ns;
  atomic_bool stop;      /* nobody sleeps any more */
  atomic_bool giving_up; /* what is under way is not waited for any more */
  atomic_int active;     /* clients that have not ended */
  bool interrupted;
  char server[128];      /* its version */
  int64_t cpu_ns;        /* of the driver, from begin_ns to the end */
  pthread_mutex_t mutex; /* protects what follows */
  char first_error[600]; /* of a transaction; "": none */
  char cut_short[600];   /* why; "": it was not */
};

/* The program's exit code: 0, 1 (an error, said in one line), 3 (the run was cut short). */
int run_load(const struct driver_options *options);

/* Thread-safe. */
void run_end_now(struct run *run);
void run_cut_short(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
void run_note_error(struct run *run, const char *type, const char *error);

#endif
