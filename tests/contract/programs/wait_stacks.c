/* Requests that wait, each kind in a function of its own below others. Argument: the kind. A second thread ends the
   waits. Each wait takes 30 ms, longer than the time between two samples. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vprof/vprof.h>

enum { kRequests = 20 };
static const struct timespec kLong = {0, 30000000};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, go;
static int fds[2];
static int ready;
static const char *kind;

#define FAR __attribute__((noinline))

FAR static void release_mutex(void) {
  pthread_mutex_lock(&mutex);
  sem_post(&go);
  nanosleep(&kLong, NULL);
  pthread_mutex_unlock(&mutex);
}

FAR static void release_others(void) {
  sem_post(&go);
  nanosleep(&kLong, NULL);
  pthread_mutex_lock(&mutex);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  if (strcmp(kind, "semaphore") == 0) sem_post(&semaphore);
  if (strcmp(kind, "pipe") == 0 && write(fds[1], "x", 1) != 1) abort();
}

static void *helper(void *unused) {
  (void)unused;
  for (int i = 0; i < kRequests; ++i) {
    if (strcmp(kind, "mutex") == 0)
      release_mutex();
    else
      release_others();
    if (strcmp(kind, "mutex") == 0) sem_wait(&semaphore);
  }
  return NULL;
}

FAR static void wait_for_mutex(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}

FAR static void wait_for_condition(void) {
  pthread_mutex_lock(&mutex);
  while (!ready) pthread_cond_wait(&condition, &mutex);
  ready = 0;
  pthread_mutex_unlock(&mutex);
}

FAR static void wait_for_semaphore(void) {
  while (sem_wait(&semaphore) != 0) {
  }
}

FAR static void wait_for_pipe(void) {
  char byte;
  if (read(fds[0], &byte, 1) != 1) abort();
}

FAR static void wait_for_time(void) {
  nanosleep(&kLong, NULL);
}

/* Frames of one size. */
FAR static void read_row(void) {
  wait_for_time();
}

FAR static void write_row(void) {
  wait_for_time();
}

FAR static void descend(int depth) {
  volatile char ballast[100];
  ballast[depth] = 1;
  if (depth > 0) {
    descend(depth - 1);
    ballast[depth] = 2;
    return;
  }
  if (strcmp(kind, "mutex") == 0) wait_for_mutex();
  if (strcmp(kind, "condition") == 0) wait_for_condition();
  if (strcmp(kind, "semaphore") == 0) wait_for_semaphore();
  if (strcmp(kind, "pipe") == 0) wait_for_pipe();
  if (strcmp(kind, "time") == 0) wait_for_time();
  if (strcmp(kind, "handler") == 0) raise(SIGUSR1);
  static int rows;
  if (strcmp(kind, "rows") == 0) (rows++ % 2 == 0 ? read_row : write_row)();
  ballast[0] = 2;
}

static void on_signal(int number) {
  (void)number;
  wait_for_time();
}

FAR static void serve(int request, int depth) {
  sem_wait(&go);
  vprof_interval_begin((uint64_t)request + 1, "");
  descend(depth);
  vprof_interval_end((uint64_t)request + 1);
  if (strcmp(kind, "mutex") == 0) sem_post(&semaphore);
}

static void *worker(void *depth) {
  for (int i = 0; i < kRequests; ++i) serve(i, (int)(intptr_t)depth);
  return NULL;
}

/* As a compiler at run time does; the table is empty. */
extern void __register_frame(void *begin);
static void register_tables(void) {
  static const uint32_t none[2];
  __register_frame((void *)none);
}

/* KIND [DEPTH [STACK BYTES [signal stack]]] */
int main(int argc, char **argv) {
  kind = argv[1];
#ifdef REGISTERS_TABLES
  register_tables();
#else
  (void)register_tables;
#endif
  const intptr_t depth = argc > 2 ? atoi(argv[2]) : 2;
  if (pipe(fds) != 0) return 1;
  sem_init(&semaphore, 0, 0);
  sem_init(&go, 0, 0);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = argc > 4 ? SA_ONSTACK : 0};
  static char alternative[1 << 16];
  sigaction(SIGUSR1, &action, NULL);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (argc > 3) pthread_attr_setstacksize(&attributes, (size_t)atol(argv[3]));
  pthread_t threads[2];
  (void)alternative;
  if (pthread_create(&threads[0], &attributes, worker, (void *)depth) != 0) return 1;
  if (pthread_create(&threads[1], NULL, helper, NULL) != 0) return 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
