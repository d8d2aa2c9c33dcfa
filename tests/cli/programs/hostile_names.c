// All names that a program can choose steer a terminal: of a file, of threads, of a type of intervals.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "vprof/vprof.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint64_t rounds = 300;

// ESC, BEL, the one-byte CSI (C1), and what turns the direction of writing
#line 10 "/tmp/\033[31mred\033]0;taken\007\xc2\x9b\x32m\xe2\x80\xae.c"
__attribute__((noinline)) static long work(long rounds) {
  volatile long sum = 0;
  for (long i = 0; i < 300 + (rounds % 7 == 0) * 3000; i++) sum = sum + i * rounds;
  return sum;
}

__attribute__((noinline)) static void serve(uint64_t id, const char *type) {
  vprof_interval_begin(id, type);
  vprof_lock(VPROF_LOCK_REQUEST, 1, 1, 0);
  pthread_mutex_lock(&mutex);
  vprof_lock(VPROF_LOCK_GRANT, 1, -1, 0);
  work((long)id);
  pthread_mutex_unlock(&mutex);
  vprof_interval_end(id);
}

static void *thread(void *odd) {
  prctl(PR_SET_NAME, "\033[31m\r\n\007\x7fT");
  for (uint64_t i = 0; i < rounds; i++) {
    serve(2 * i + 1 + (odd != 0), odd ? "\033[32mgreen\n\r\007\xe2\x80\xae" : "plain");
  }
  return 0;
}

int main(int count, char **arguments) {
  if (count > 1) rounds = (uint64_t)atol(arguments[1]);
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(threads + i, 0, thread, (void *)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
