/* The log of fuzz.h: per thread, "+ file line at" for an entry and "-" for an exit, in memory until the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fuzz.h"

enum { kThreads = 8, kEvents = 1 << 17 };

struct event {
  const char *file; /* NULL: an exit */
  int line;
  unsigned at;
};

static struct log {
  long tid;
  unsigned count, depth;
  int fuel;
  struct event events[kEvents];
} logs[kThreads];
static unsigned checksum;
static _Thread_local struct log *mine = logs;

static void append(struct event event) {
  if (!mine->tid) mine->tid = syscall(SYS_gettid);
  if (mine->count == kEvents) _exit(FUZZ_LOG_FULL); /* it would lie */
  mine->events[mine->count++] = event;
}

void fuzz_entered(const char *file, int line, unsigned at) {
  append((struct event){file, line, at});
  ++mine->depth;
  --mine->fuel;
}

void fuzz_left(void) {
  append((struct event){NULL, 0, 0});
  --mine->depth;
}

unsigned fuzz_depth(void) {
  return mine->depth;
}

void fuzz_unwind(unsigned depth) {
  while (mine->depth > depth) fuzz_left();
}

void fuzz_thread(unsigned index) {
  mine = &logs[index];
  mine->tid = syscall(SYS_gettid);
}

void fuzz_check(unsigned value) {
  value = (value ^ (value >> 15)) * 0x2c1b3c6dU;
  __atomic_fetch_add(&checksum, value ^ (value >> 12), __ATOMIC_RELAXED);
}

unsigned fuzz_checksum(void) {
  return checksum;
}

int fuzz_spent(void) {
  return mine->fuel <= 0;
}

int fuzz_round(void) {
  return mine->fuel-- <= 0;
}

void fuzz_refuel(unsigned calls) {
  mine->fuel = (int)calls;
}

void fuzz_forked(void) {
  for (struct log *log = logs; log < logs + kThreads; ++log) log->tid = log->count = 0;
}

static void write_one(FILE *out, const struct log *log) {
  fprintf(out, "T %ld %d\n", log->tid, (int)getpid());
  for (const struct event *event = log->events; event < log->events + log->count; ++event) {
    const char *slash = event->file ? strrchr(event->file, '/') : NULL;
    if (event->file)
      fprintf(out, "+ %s %d %u\n", slash ? slash + 1 : event->file, event->line, event->at);
    else
      fputs("-\n", out);
  }
}

void fuzz_write(void) {
  const char *path = getenv("FUZZ_LOG");
  FILE *out = path ? fopen(path, "a") : NULL;
  if (!out) return;
  for (const struct log *log = logs; log < logs + kThreads; ++log)
    if (log->tid) write_one(out, log);
  fclose(out);
}

/* Behind everything that the program does at its end. Not fuzz_write itself: gcc takes no priority for what was
 * declared without one before. */
__attribute__((destructor(101))) static void write_at_end(void) {
  fuzz_write();
}
