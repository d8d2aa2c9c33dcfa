// Two threads, some 60,000 records in a second: calls in intervals, waits for a lock, pauses.
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#include <vprof/vprof.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int sink;

__attribute__((noinline)) void leaf(int n) {
  for (int i = 0; i < n; i++) sink += i;
}

__attribute__((noinline)) void shared(int n) {
  pthread_mutex_lock(&lock);
  leaf(n % 7 == 0 ? 20000 : 100);
  pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void request(int n) {
  for (int i = 0; i < 40; i++) leaf(n % 13);
  shared(n);
}

static void *serve(void *first) {
  for (uint64_t n = 0; n < 700; n++) {
    const uint64_t id = 2 * n + (uintptr_t)first;
    vprof_interval_begin(id, n % 3 ? "read" : "write");
    request((int)n);
    vprof_interval_end(id);
    usleep(500);
  }
  return 0;
}

int main(void) {
  pthread_t other;
  pthread_create(&other, 0, serve, (void *)2);
  serve((void *)1);
  pthread_join(other, 0);
  return 0;
}
