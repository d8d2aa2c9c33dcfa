/* Does what a file says, line by line, each on the thread that the line names: THREAD STEP OBJECT MODE OWNER. Steps are
 * those of vprof_lock, and b, e, a (an interval begins, ends, is aborted), w (work for it), k (SIGKILL), s and c (the
 * process $COLLECTOR stops, and goes on). Prints before and after each when it was, ns. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vprof/vprof.h>

enum { THREADS = 4, MOST = 100000 };

static struct line {
  int thread, mode;
  char step;
  uint64_t object, owner;
} lines[MOST];
static int64_t times[MOST][2];
static int count;
static atomic_int turn;

static int64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void make(const struct line *line) {
  switch (line->step) {
    case 'b':
      vprof_interval_begin(line->owner, "t");
      break;
    case 'e':
      vprof_interval_end(line->owner);
      break;
    case 'a':
      vprof_interval_abort(line->owner);
      break;
    case 'w':
      vprof_on_behalf(line->owner);
      break;
    case 'k':
      raise(SIGKILL);
      break;
    case 's':
    case 'c':
      kill(atoi(getenv("COLLECTOR")), line->step == 's' ? SIGSTOP : SIGCONT);
      break;
    default:
      vprof_lock(line->step - '0', line->object, line->mode, line->owner);
  }
}

static void *run(void *thread) {
  for (int at; (at = atomic_load(&turn)) < count; sched_yield()) {
    if (lines[at].thread != (int)(intptr_t)thread) continue;
    times[at][0] = now_ns();
    make(&lines[at]);
    times[at][1] = now_ns();
    atomic_fetch_add(&turn, 1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (!file) return 2;
  for (struct line *line = lines; count < MOST; ++line, ++count)
    if (fscanf(file, "%d %c %" SCNu64 " %d %" SCNu64, &line->thread, &line->step, &line->object, &line->mode,
               &line->owner) != 5)
      break;
  fclose(file);
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, run, (void *)i);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i) printf("%" PRId64 " %" PRId64 "\n", times[i][0], times[i][1]);
  return 0;
}
