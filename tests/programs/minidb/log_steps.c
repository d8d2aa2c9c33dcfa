/* Runs minidb's parallel log step by step: each commit is a thread of its own.
 *
 *     log_steps LOGS < steps
 *
 *     busy L, idle L   this thread takes the flush latch of log L, and gives it back; idle: until nobody writes to it
 *     commit           the log that the committer chooses; REQUIRES: all are busy
 *     flushed          of each log how many records it has flushed
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel_log.h"
#include "thread.h"

enum { COMMITS = 100 };

static struct parallel_log logs;

static void *commit(void *argument) {
  struct log_batch batch = {0};
  struct log_record record = {.txn_id = 1 + (size_t)argument, .account = 1, .kind = "test"};
  log_add(&logs, &batch, &record);
  log_commit(&logs, &batch, 1);
  return NULL;
}

static size_t committers(size_t log) {
  pthread_mutex_lock(&logs.choice_mutex);
  size_t count = logs.committers[log];
  pthread_mutex_unlock(&logs.choice_mutex);
  return count;
}

static size_t chosen_by(pthread_t *thread, size_t number) {
  size_t before[MAX_LOGS];
  for (size_t i = 0; i < logs.count; i++) before[i] = committers(i);
  *thread = thread_start(commit, (void *)number);
  for (;; sched_yield()) {
    for (size_t i = 0; i < logs.count; i++) {
      if (committers(i) > before[i]) return i;
    }
  }
}

static void idle(size_t log) {
  latch_release(&logs.wals[log].flush_latch);
  while (committers(log)) sched_yield();
}

static void print_flushed(void) {
  for (size_t i = 0; i < logs.count; i++) printf("%s%zu", i ? " " : "", (size_t)logs.wals[i].flushed);
  puts("");
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  parallel_log_init(&logs, strtoull(argv[1], NULL, 10), COMMITS, NULL, 0);
  pthread_t threads[COMMITS];
  size_t number = 0, log;
  char line[80], step[20];
  while (fgets(line, sizeof line, stdin)) {
    int words = sscanf(line, "%19s %zu", step, &log);
    if (words == 2 && log >= logs.count) return 2;
    if (strcmp(step, "busy") == 0) latch_acquire(&logs.wals[log].flush_latch);
    if (strcmp(step, "idle") == 0) idle(log);
    if (strcmp(step, "commit") == 0) printf("%zu\n", chosen_by(&threads[number], number)), number++;
    if (strcmp(step, "flushed") == 0) print_flushed();
  }
  for (size_t i = 0; i < number; i++) pthread_join(threads[i], NULL);
  parallel_log_destroy(&logs);
  return 0;
}
