/* What forced schedules are made of: threads that say who they are, and looking until one sleeps in the primitive under
 * test. None of this leaves an edge, but for joins of threads that still run. */
#ifndef VPROF_TEST_FORCED_H
#define VPROF_TEST_FORCED_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8 };
static atomic_int tid_of[THREADS];

static inline int self(void) {
  return (int)syscall(SYS_gettid);
}

static inline void pause_ms(long ms) {
  struct timespec t = {0, ms * 1000000};
  nanosleep(&t, NULL);
}

static inline void require(int condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

/* 0: there is no such thread. */
static inline char state_of(int tid) {
  char path[64], line[512], *end;
  snprintf(path, sizeof path, "/proc/%d/stat", tid);
  FILE *f = fopen(path, "r");
  if (f == NULL) return 0;
  char *read = fgets(line, sizeof line, f);
  fclose(f);
  end = read ? strrchr(line, ')') : NULL;
  return end ? end[2] : 0;
}

static inline int wait_for_tid(int i) {
  while (tid_of[i] == 0) sched_yield();
  return tid_of[i];
}

/* Thread i has said that its next sleep is in the primitive under test. */
static inline void wait_until_asleep(int i) {
  while (state_of(wait_for_tid(i)) != 'S') pause_ms(1);
}

/* Thread i has said that its next work is to spin there. */
static inline void wait_until_spinning(int i, pthread_t thread) {
  clockid_t clock;
  struct timespec first, now;
  wait_for_tid(i);
  require(pthread_getcpuclockid(thread, &clock) == 0 && clock_gettime(clock, &first) == 0, "thread clock");
  do {
    sched_yield();
    clock_gettime(clock, &now);
  } while ((now.tv_sec - first.tv_sec) * 1000000000 + now.tv_nsec - first.tv_nsec < 5000000);
}

static inline void enter_thread(int i) {
  tid_of[i] = self();
}

static inline int index_of(void *argument) {
  return (int)(intptr_t)argument;
}

/* Thread i runs `routine`, which gets i. */
static inline pthread_t start_as(int i, void *(*routine)(void *)) {
  pthread_t thread;
  require(pthread_create(&thread, NULL, routine, (void *)(intptr_t)i) == 0, "pthread_create");
  return thread;
}

/* Joins without waiting in pthread_join. */
static inline void join_ended(pthread_t thread, int i) {
  while (state_of(wait_for_tid(i)) != 0) pause_ms(1);
  pthread_join(thread, NULL);
}

/* An edge that must be recorded: CLASS waiter waker; waker 0: nobody. */
static inline void expect(int class_number, int waiter, int waker) {
  printf("%d %d %d\n", class_number, waiter, waker);
}

/* One that may be recorded, or not. */
static inline void allow(int class_number, int waiter, int waker) {
  printf("or %d %d %d\n", class_number, waiter, waker);
}

/* 50 ms from now. */
static inline struct timespec soon(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += 50000000;
  if (t.tv_nsec >= 1000000000) {
    t.tv_nsec -= 1000000000;
    ++t.tv_sec;
  }
  return t;
}

struct scenario {
  const char *name;
  void (*run)(void);
};

static inline int run_scenario(const struct scenario *scenarios, size_t count, int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < count; ++i)
    if (strcmp(argv[1], scenarios[i].name) == 0) {
      scenarios[i].run();
      return 0;
    }
  return 2;
}

#endif
