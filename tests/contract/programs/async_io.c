/* Workers whose requests an I/O thread does: FILE and a kind of request. Each request is an interval of its worker,
   which waits for a condition until the I/O thread says that it is done.

   sync   fsync after a write, by the worker         own    the same, but the worker waits for it itself
   read   a large read past the page cache           late   submitted by a third thread, 20 ms after the worker asked
   short  sync, by an I/O thread that wakes up often poll   that a pipe becomes readable, which takes 20 ms

   By Linux's asynchronous I/O, with RING by io_uring, with LIBURING by its library. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vprof/vprof.h>

#if defined RING
#include "async_ring.h"
#elif defined LIBURING
#include "async_liburing.h"
#else
#include "async_aio.h"
#endif

enum { kWorkers = 2, kRequests = 20, kBytes = 8 << 20, kPause = 20000, kNotHere = 77 };
#define FAR __attribute__((noinline))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t asked;
static struct request *late;
static const char *kind;
static int file, fds[2];
static char *data[kWorkers];

static int is(const char *name) {
  return strcmp(kind, name) == 0;
}

FAR static void submit(struct request *request) {
  if (start(request) != 1) abort();
}

/* There is one worker then. */
FAR static void provide(void) {
  usleep(kPause);
  if (is("poll") && write(fds[1], "x", 1) != 1) abort();
  if (is("late")) submit(late);
}

static void *provider(void *unused) {
  (void)unused;
  for (;;) {
    while (sem_wait(&asked) != 0) continue;
    provide();
  }
}

static void finish(struct request *request) {
  char byte;
  if (is("poll") && read(fds[0], &byte, 1) != 1) abort();
  pthread_mutex_lock(&mutex);
  request->done = 1;
  pthread_cond_signal(&request->condition);
  pthread_mutex_unlock(&mutex);
}

FAR static void collect_one(void) {
  struct timespec often = {0, 100000};
  struct request *request = collect(is("short") ? &often : NULL);
  if (request != NULL) finish(request);
}

static void *io_thread(void *unused) {
  (void)unused;
  for (;;) collect_one();
}

FAR static void ask(struct request *request, int worker) {
  prepare(request, kind, is("poll") ? fds[0] : file, data[worker], kBytes, (off_t)worker * kBytes);
  late = request;
  if (!is("late")) submit(request);
  if (is("poll") || is("late")) sem_post(&asked);
}

FAR static void await(struct request *request) {
  if (is("own")) return collect_one();
  pthread_mutex_lock(&mutex);
  while (!request->done) pthread_cond_wait(&request->condition, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void *worker(void *number) {
  const int self = (int)(intptr_t)number;
  for (int i = 0; i < kRequests; ++i) {
    struct request request = {.condition = PTHREAD_COND_INITIALIZER};
    const uint64_t id = (uint64_t)(self * kRequests + i + 1);
    if (!is("read") && pwrite(file, data[self], kBytes / 4, (off_t)self * kBytes) < 0) abort();
    vprof_interval_begin(id, "");
    ask(&request, self);
    await(&request);
    vprof_interval_end(id);
    usleep(1000);
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  kind = argv[2];
  file = open(argv[1], O_RDWR | O_CREAT, 0600);
  if (file < 0 || pipe(fds) != 0) return 1;
  if (set_up() != 0) return kNotHere;
  for (int i = 0; i < kWorkers; ++i) {
    if (posix_memalign((void **)&data[i], 4096, kBytes) != 0) return 1;
    memset(data[i], i + 1, kBytes);
    if (pwrite(file, data[i], kBytes, (off_t)i * kBytes) != kBytes) return 1;
  }
  if (fsync(file) != 0 || (is("read") && fcntl(file, F_SETFL, O_DIRECT) != 0)) return 1;
  sem_init(&asked, 0, 0);
  const int workers = is("late") || is("poll") || is("own") ? 1 : kWorkers;
  pthread_t threads[kWorkers], other;
  if (!is("own") && pthread_create(&other, NULL, io_thread, NULL) != 0) return 1;
  if (pthread_create(&other, NULL, provider, NULL) != 0) return 1;
  usleep(kPause); /* they begin before the first request */
  for (int i = 0; i < workers; ++i)
    if (pthread_create(&threads[i], NULL, worker, (void *)(intptr_t)i) != 0) return 1;
  for (int i = 0; i < workers; ++i) pthread_join(threads[i], NULL);
  puts(backend);
  return 0;
}
