/* What a plant does, and its own account of it: nothing here is measured by vprof.
 *
 *     plant.bin (PLANT_FILE)  ->  which plant acts, how, and the seed that says in which requests
 *                             <-  of each thread: sums over its requests of latency and planted time
 *
 * One request in 100 is due. A plant acts once for each request that has begun, whether its function is called many
 * times in one, or late, when others of the thread have begun: then at the thread's next call, whichever it works for.
 * Planted time is what the thread spends in a plant: also that of a request whose turn in the thread's loop comes
 * later, and of one that waits for a lock that a plant holds. Without plant.bin nothing acts.
 */

#include "plant.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "plant_file.h"

#define ONE_IN 100
#define SPIN_NS 4000000
#define HOLD_NS 5000000
#define THREADS 64
#define IN_HAND 256

/* The script reads and writes this: tests/corpus/planted.py. Times are us. */
enum { SPIN = 1, HELD = 2 };
struct sums {
  double requests, latency, latency2, planted, planted2, product, fired, unused;
};
struct plant_file {
  uint64_t seed, number, kind, threads;
  struct sums sums[THREADS];
  pthread_mutex_t lock; /* of all processes */
};

struct request {
  uint64_t id, begin_ns, planted_ns;
};

static struct plant_file *file;
static __thread struct sums *mine;
static __thread struct request in_hand[IN_HAND];
static __thread uint64_t planted_ns, begun;
/* Of the thread's requests: those that the plant has not seen yet, and how many of them are due. */
static __thread uint64_t fresh, due;

static uint64_t plant_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
static uint64_t plant_mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

__attribute__((constructor)) static void plant_open(void) {
  const int fd = open(PLANT_FILE, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return;
  file = (struct plant_file *)at;
  pthread_mutexattr_t shared;
  pthread_mutexattr_init(&shared);
  pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&file->lock, &shared);
}

static struct request *plant_find(uint64_t id) {
  for (int i = 0; i < IN_HAND; ++i)
    if (in_hand[i].id == id) return &in_hand[i];
  return NULL;
}

__attribute__((visibility("default"))) void plant_request_begin(uint64_t id) {
  if (!file || !id) return;
  if (!mine) mine = &file->sums[__atomic_fetch_add(&file->threads, 1, __ATOMIC_RELAXED) % THREADS];
  const uint64_t thread = (uint64_t)(mine - file->sums);
  fresh += 1;
  due += plant_mixed(file->seed ^ plant_mixed(thread << 32 ^ ++begun)) % ONE_IN == 0;
  struct request *one = plant_find(0);
  if (one) *one = (struct request){id, plant_now_ns(), planted_ns};
}

__attribute__((visibility("default"))) void plant_request_end(uint64_t id) {
  struct request *one = file && id ? plant_find(id) : NULL;
  if (!one) return;
  const double latency = (double)(plant_now_ns() - one->begin_ns) / 1e3;
  const double planted = (double)(planted_ns - one->planted_ns) / 1e3;
  one->id = 0;
  mine->requests += 1;
  mine->latency += latency;
  mine->latency2 += latency * latency;
  mine->planted += planted;
  mine->planted2 += planted * planted;
  mine->product += latency * planted;
}

__attribute__((visibility("default"))) void plant_here(uint64_t number) {
  if (!file || number != file->number || !fresh) return;
  fresh -= 1;
  const int acts = due > 0;
  due -= acts;
  if (!acts && file->kind != HELD) return;
  const uint64_t begin = plant_now_ns();
  if (file->kind == HELD) {
    const struct timespec hold = {0, HOLD_NS};
    pthread_mutex_lock(&file->lock);
    if (acts) nanosleep(&hold, NULL);
    pthread_mutex_unlock(&file->lock);
  } else {
    while (plant_now_ns() - begin < SPIN_NS) {
    }
  }
  mine->fired += acts;
  planted_ns += plant_now_ns() - begin;
}
