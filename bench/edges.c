/* edges PRIMITIVE PAIRS: nanoseconds of CPU per uncontended acquire and release, the median over bursts of 20,000;
 * another thread sleeps meanwhile, as a server has: with one thread glibc locks a mutex without an atomic instruction.
 * edges handoff MEANS COUNT: nanoseconds of CPU of the process per hand-over between two threads on one CPU, each of
 * which sleeps until the other acts: one context switch each; the median over bursts of 1,000.
 * edges contend PRIMITIVE THREADS ROUNDS WORK: threads contend for one lock and keep the ground truth themselves: who
 * released before each acquire that had to wait. Prints `TID begin end RELEASER WRITES leaving left`, times of
 * CLOCK_MONOTONIC in ns; WORK is the length of a hold in turns of an empty loop. */
#include <pthread.h>
#include <sched.h>
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

/* Every fourth time a thread writes, else it reads. What it does now: */
static __thread int writes = 1, turns;

static void mixed_acquire(void) {
  writes = turns++ % 4 == 0;
  writes ? write_acquire() : read_acquire();
}

static const struct primitive {
  const char *name;
  void (*acquire)(void);
  void (*release)(void);
} primitives[] = {{"mutex", mutex_acquire, mutex_release},  {"read", read_acquire, rwlock_release},
                  {"write", write_acquire, rwlock_release}, {"mixed", mixed_acquire, rwlock_release},
                  {"spin", spin_acquire, spin_release},     {"semaphore", semaphore_acquire, semaphore_release}};

static uint64_t now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void *sleep_on(void *unused) {
  for (;;) pause();
  return unused;
}

static void measure(const struct primitive *p, long pairs) {
  enum { BURST = 20000, MOST = 1000 };
  static double bursts[MOST];
  pthread_t other;
  pthread_create(&other, NULL, sleep_on, NULL);
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

/* Hand-overs: the side of thread 0 and of thread 1. */
static sem_t turn_of[2];
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, pipe_to[2][2];

static void semaphore_give(int to) {
  sem_post(&turn_of[to]);
}
static void semaphore_take(int self) {
  sem_wait(&turn_of[self]);
}
static void condition_give(int to) {
  pthread_mutex_lock(&mutex);
  turn = to;
  pthread_mutex_unlock(&mutex);
  pthread_cond_signal(&turned);
}
static void condition_take(int self) {
  pthread_mutex_lock(&mutex);
  while (turn != self) pthread_cond_wait(&turned, &mutex);
  pthread_mutex_unlock(&mutex);
}
static void pipe_give(int to) {
  const char byte = 0;
  if (write(pipe_to[to][1], &byte, 1) != 1) abort();
}
static void pipe_take(int self) {
  char byte;
  if (read(pipe_to[self][0], &byte, 1) != 1) abort();
}

static const struct means {
  const char *name;
  void (*give)(int to);
  void (*take)(int self);
} means[] = {{"semaphore", semaphore_give, semaphore_take},
             {"condition", condition_give, condition_take},
             {"pipe", pipe_give, pipe_take}};

static const struct means *hand_over;
static long hand_overs;

static void *answer(void *unused) {
  for (long i = 0; i < hand_overs; ++i) {
    hand_over->take(1);
    hand_over->give(0);
  }
  return unused;
}

static void measure_hand_overs(const struct means *m, long count) {
  enum { BURST = 1000, MOST = 1000 };
  static double bursts[MOST];
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (int i = 0; i < 2; ++i)
    if (sem_init(&turn_of[i], 0, 0) != 0 || pipe(pipe_to[i]) != 0) exit(1);
  hand_over = m;
  const long full = count / BURST < MOST ? count / BURST : MOST;
  hand_overs = full * BURST / 2;
  pthread_t other;
  pthread_create(&other, NULL, answer, NULL);
  for (long n = 0; n < full; ++n) {
    const uint64_t start = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < BURST / 2; ++i) {
      m->give(1);
      m->take(0);
    }
    bursts[n] = (double)(now(CLOCK_PROCESS_CPUTIME_ID) - start) / BURST;
  }
  pthread_join(other, NULL);
  qsort(bursts, (size_t)full, sizeof *bursts, compare);
  printf("%.1f\n", bursts[full / 2]);
}

/* The number of who released last: stored while the lock is held. Of a mixed lock several let go at once, so the times
 * before and after a release are kept. */
static volatile int last_releaser;
static const struct primitive *contended;
static long rounds, work;

struct hold {
  uint64_t begin, end; /* of the wait before it */
  int releaser, writes;
  uint64_t leaving, left;
};

static void hold_once(struct hold *h, int self) {
  h->begin = now(CLOCK_MONOTONIC);
  contended->acquire();
  h->end = now(CLOCK_MONOTONIC);
  h->releaser = last_releaser;
  h->writes = writes;
  const int mixed = contended->acquire == mixed_acquire;
  for (volatile long k = 0; k < work; ++k) continue;
  last_releaser = self;
  if (mixed) h->leaving = now(CLOCK_MONOTONIC);
  contended->release();
  if (mixed) h->left = now(CLOCK_MONOTONIC);
  for (volatile long k = 0; k < work / 2; ++k) continue;
}

static void *contend(void *unused) {
  (void)unused;
  const int self = (int)syscall(SYS_gettid);
  struct hold *holds = calloc((size_t)rounds, sizeof *holds);
  for (long i = 0; i < rounds; ++i) hold_once(&holds[i], self);
  flockfile(stdout);
  for (const struct hold *h = holds; h < holds + rounds; ++h)
    printf("%d %llu %llu %d %d %llu %llu\n", self, (unsigned long long)h->begin, (unsigned long long)h->end,
           h->releaser, h->writes, (unsigned long long)h->leaving, (unsigned long long)h->left);
  funlockfile(stdout);
  free(holds);
  return NULL;
}

int main(int argc, char **argv) {
  const int contends = argc == 6 && strcmp(argv[1], "contend") == 0;
  if (argc == 4 && strcmp(argv[1], "handoff") == 0) {
    for (size_t i = 0; i < sizeof means / sizeof *means; ++i)
      if (strcmp(argv[2], means[i].name) == 0) {
        measure_hand_overs(&means[i], atol(argv[3]));
        return 0;
      }
    return 2;
  }
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
