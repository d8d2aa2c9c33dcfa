/* Planted: most of the latency of plug() is the time that hold() sleeps with the lock, in another thread. */
#include "planted.h"

#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void work(int n) {
  for (volatile int i = 0; i < n; ++i) continue;
}

static void hold(void) {
  pthread_mutex_lock(&lock);
  usleep(3000);
  pthread_mutex_unlock(&lock);
  usleep(2000);
}

static void *bg(void *nothing) {
  for (;;) hold();
  return nothing;
}

static void take(void) {
  pthread_mutex_lock(&lock);
  work(1000);
  pthread_mutex_unlock(&lock);
}

long plug(long x) {
  static int started;
  if (!started) {
    pthread_t thread;
    started = 1;
    pthread_create(&thread, NULL, bg, NULL);
    pthread_detach(thread);
  }
  work(2000);
  take();
  return x;
}
