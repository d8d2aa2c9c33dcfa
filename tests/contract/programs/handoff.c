// A forced schedule: main holds the mutex until the worker has been blocked on it for a while.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <vprof/vprof.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int holding, arriving;

static void hold(void) {
  atomic_store(&holding, 1);
  while (!atomic_load(&arriving)) usleep(100);
  usleep(20000);
  pthread_mutex_unlock(&lock);
}

static void take(void) {
  atomic_store(&arriving, 1);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
}

static void *worker(void *unused) {
  (void)unused;
  while (!atomic_load(&holding)) usleep(100);
  vprof_interval_begin(1, "locked");
  take();
  vprof_interval_end(1);
  return 0;
}

int main(void) {
  pthread_t thread;
  pthread_mutex_lock(&lock);
  pthread_create(&thread, 0, worker, 0);
  hold();
  pthread_join(thread, 0);
  return 0;
}
