// A client hands requests to a worker: begin and end on different threads, a created-by edge each.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>
#include <vprof/vprof.h>

enum { REQUESTS = 20 };

static sem_t ready;
static unsigned long queue[REQUESTS];

static void submit(unsigned long id) {
  vprof_interval_begin(id, id % 2 ? "odd" : "even");
  queue[id - 1] = id;
  vprof_enqueue((uint64_t)&queue[id - 1]);
  sem_post(&ready);
  vprof_on_behalf(0);
}

static void serve(unsigned long id) {
  usleep(id % 2 ? 2000 : 500);
}

static void *worker(void *unused) {
  (void)unused;
  for (int i = 0; i < REQUESTS; i++) {
    sem_wait(&ready);
    vprof_dequeue((uint64_t)&queue[i]);
    vprof_on_behalf(queue[i]);
    serve(queue[i]);
    vprof_interval_end(queue[i]);
  }
  return 0;
}

int main(void) {
  pthread_t thread;
  sem_init(&ready, 0, 0);
  pthread_create(&thread, 0, worker, 0);
  for (unsigned long id = 1; id <= REQUESTS; id++) {
    submit(id);
    usleep(3000);
  }
  pthread_join(thread, 0);
  return 0;
}
