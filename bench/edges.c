/* edges PRIMITIVE PAIRS: nanoseconds of CPU per uncontended acquire and release, the median over bursts of 20,000.
 * edges contend PRIMITIVE THREADS ROUNDS WORK: threads contend for one lock and keep the ground truth themselves: who
 * released before each acquire that had to wait. Prints `TID begin end RELEASER`, times of CLOCK_MONOTONIC in ns; WORK
 * is the length of a hold in turns of an empty loop. */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t semaphore;

static void mutex_acquire(void) {
  pthread_mutex_lock(&mutex);
}
static void mutex_release(void) {
  pthread_mutex_unlock(&mutex);
}
static void read_acquire(void) {
  pthread_rwlock_rdlock(&rwlock);
}
static void write_acquire(void) {
  pthread_rwlock_wrlock(&rwlock);
}
static void rwlock_release(void) {
  pthread_rwlock_unlock(&rwlock);
}
static void spin_acquire(void) {
  pthread_spin_lock(&spin);
}
static void spin_release(void) {
  pthread_spin_unlock(&spin);
}
static void semaphore_acquire(void) {
  sem_wait(&semaphore);
}
static void semaphore_release(void) {
  sem_post(&semaphore);
}

static const struct primitive {
  const char *name;
  void (*acquire)(void);
  void (*release)(void);
} primitives[] = {{"mutex", mutex_acquire, mutex_release},
                  {"read", read_acquire, rwlock_release},
                  {"write", write_acquire, rwlock_release},
                  {"spin", spin_acquire, spin_release},
                  {"semaphore", semaphore_acquire, semaphore_release}};

static uint64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(const struct primitive *p, long pairs) {
  enum { BURST = 20000, MOST = 1000 };
  static double bursts[MOST];
  long n = 0;
  for (; n < MOST && n * BURST < pairs; ++n) {
    const uint64_t start = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < BURST; ++i) {
      p->acquire();
      p->release();
    }
    bursts[n] = (double)(now(CLOCK_THREAD_CPUTIME_ID) - start) / BURST;
  }
  qsort(bursts, (size_t)n, sizeof *bursts, compare);
  printf("%.2f\n", bursts[n / 2]);
}

/* The holder's number, and the last one's: written only while the lock is held. */
static volatile int last_releaser;
static const struct primitive *contended;
static long rounds, work;

struct wait {
  uint64_t begin, end;
  int releaser;
};

static void *contend(void *unused) {
  (void)unused;
  const int self = (int)syscall(SYS_gettid);
  struct wait *waits = calloc((size_t)rounds, sizeof *waits);
  for (long i = 0; i < rounds; ++i) {
    waits[i].begin = now(CLOCK_MONOTONIC);
    contended->acquire();
    waits[i].end = now(CLOCK_MONOTONIC);
    waits[i].releaser = last_releaser;
    for (volatile long k = 0; k < work; ++k) continue;
    last_releaser = self;
    contended->release();
    for (volatile long k = 0; k < work / 2; ++k) continue;
  }
  flockfile(stdout);
  for (long i = 0; i < rounds; ++i)
    printf("%d %llu %llu %d\n", self, (unsigned long long)waits[i].begin, (unsigned long long)waits[i].end,
           waits[i].releaser);
  funlockfile(stdout);
  free(waits);
  return NULL;
}

int main(int argc, char **argv) {
  const int contends = argc == 6 && strcmp(argv[1], "contend") == 0;
  if (!contends && argc != 3) return 2;
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&semaphore, 0, 1);
  for (size_t i = 0; i < sizeof primitives / sizeof *primitives; ++i) {
    if (strcmp(argv[contends ? 2 : 1], primitives[i].name) != 0) continue;
    if (!contends) {
      measure(&primitives[i], atol(argv[2]));
      return 0;
    }
    contended = &primitives[i];
    rounds = atol(argv[4]);
    work = atol(argv[5]);
    pthread_t threads[64];
    const int count = atoi(argv[3]);
    for (int k = 0; k < count && k < 64; ++k) pthread_create(&threads[k], NULL, contend, NULL);
    for (int k = 0; k < count && k < 64; ++k) pthread_join(threads[k], NULL);
    return 0;
  }
  return 2;
}
