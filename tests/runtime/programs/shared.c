/* shared MEMORY PRIMITIVE: a child process waits for its parent on a primitive in memory they share, at the same or at
 * different addresses. Prints the edges that must be recorded, one per line, as programs/edges.c does. The schedule is
 * forced: the parent acts when it has seen the child asleep (or, for `described`, inside its wait).
 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vprof/vprof.h"

/* The first page is something else, so that offsets matter. */
#define SIZE 8192

struct shared {
  char unused[4096];
  pthread_mutex_t mutex;
  pthread_cond_t condition;
  sem_t semaphore;
  pthread_rwlock_t rwlock;
  pthread_barrier_t barrier;
  pthread_spinlock_t spin;
  int word;
  char latch;
  atomic_int waiting, released;
};

static struct shared *shared;
static char private_latch;

static void require(int condition, const char *what) {
  if (condition) return;
  perror(what);
  exit(1);
}

/* Memory: how the parent gets it, and how the child then finds the same memory elsewhere. */

static int segment;

static void *map(int flags, int fd) {
  void *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
  require(p != MAP_FAILED, "mmap");
  return p;
}

static void *anonymous(void) {
  return map(MAP_ANONYMOUS, -1);
}
static void *same(void *inherited) {
  return inherited;
}
static void *moved(void *inherited) {
  void *target = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *p = mremap(inherited, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, target);
  require(p == target, "mremap");
  return p;
}
static void *file(void) {
  segment = memfd_create("shared", 0);
  require(ftruncate(segment, SIZE) == 0, "ftruncate");
  return map(0, segment);
}
static void *mapped_again(void *inherited) {
  (void)inherited;
  return map(0, segment);
}
static void *system_v(void) {
  segment = shmget(IPC_PRIVATE, SIZE, 0600);
  void *p = shmat(segment, NULL, 0);
  require(p != (void *)-1, "shmat");
  return p;
}
static void *attached_again(void *inherited) {
  (void)inherited;
  void *p = shmat(segment, NULL, 0);
  require(p != (void *)-1 && shmctl(segment, IPC_RMID, NULL) == 0, "shmat");
  return p;
}

static const struct {
  const char *name;
  void *(*make)(void);
  void *(*find_in_child)(void *inherited);
} memories[] = {{"anonymous", anonymous, same},
                {"moved", anonymous, moved},
                {"file", file, mapped_again},
                {"system-v", system_v, attached_again}};

/* Primitives: what the parent does first, the wait in the child, the release in the parent. */

static void said_waiting(void) {
  shared->waiting = 1;
}

static void hold_mutex(void) {
  pthread_mutex_lock(&shared->mutex);
}
static void lock_mutex(void) {
  said_waiting();
  pthread_mutex_lock(&shared->mutex);
  pthread_mutex_unlock(&shared->mutex);
}
static void unlock_mutex(void) {
  pthread_mutex_unlock(&shared->mutex);
}
static void wait_condition(void) {
  pthread_mutex_lock(&shared->mutex);
  said_waiting();
  pthread_cond_wait(&shared->condition, &shared->mutex);
  pthread_mutex_unlock(&shared->mutex);
}
static void signal_condition(void) {
  pthread_cond_signal(&shared->condition);
}
static void wait_semaphore(void) {
  said_waiting();
  sem_wait(&shared->semaphore);
}
static void post_semaphore(void) {
  sem_post(&shared->semaphore);
}

static void hold_for_writing(void) {
  pthread_rwlock_wrlock(&shared->rwlock);
}
static void hold_for_reading(void) {
  pthread_rwlock_rdlock(&shared->rwlock);
}
static void lock_for_reading(void) {
  said_waiting();
  pthread_rwlock_rdlock(&shared->rwlock);
  pthread_rwlock_unlock(&shared->rwlock);
}
static void lock_for_writing(void) {
  said_waiting();
  pthread_rwlock_wrlock(&shared->rwlock);
  pthread_rwlock_unlock(&shared->rwlock);
}
static void unlock_rwlock(void) {
  pthread_rwlock_unlock(&shared->rwlock);
}
static void meet(void) {
  said_waiting();
  pthread_barrier_wait(&shared->barrier);
}
static void hold_spin(void) {
  pthread_spin_lock(&shared->spin);
}
static void lock_spin(void) {
  said_waiting();
  pthread_spin_lock(&shared->spin);
  pthread_spin_unlock(&shared->spin);
}
static void unlock_spin(void) {
  pthread_spin_unlock(&shared->spin);
}
static void wait_futex(void) {
  said_waiting();
  syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL, 0);
}
static void wake_futex(void) {
  syscall(SYS_futex, &shared->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wait_on(uint64_t object) {
  vprof_wait_begin(object);
  said_waiting();
  while (!shared->released) sched_yield();
  vprof_wait_end(object);
}
static void wake(uint64_t object) {
  vprof_wake(object);
  shared->released = 1;
  vprof_wake_done(object);
}
static void wait_described(void) {
  wait_on((uint64_t)&shared->latch);
}
static void wake_described(void) {
  wake((uint64_t)&shared->latch);
}
static void wait_number(void) {
  wait_on(42);
}
static void wake_number(void) {
  wake(42);
}
static void wait_private(void) {
  wait_on((uint64_t)&private_latch);
}
static void wake_private(void) {
  wake((uint64_t)&private_latch);
}

static void nothing(void) {}

/* When the parent may act. */
typedef enum { SAID_SO, ASLEEP, SPINNING } Moment;

static const struct {
  const char *name;
  int class; /* 0: no edge */
  Moment moment;
  void (*prepare)(void);
  void (*wait)(void);
  void (*release)(void);
} primitives[] = {{"mutex", 1, ASLEEP, hold_mutex, lock_mutex, unlock_mutex},
                  {"condition", 2, ASLEEP, nothing, wait_condition, signal_condition},
                  {"semaphore", 3, ASLEEP, nothing, wait_semaphore, post_semaphore},
                  {"rwlock-read", 6, ASLEEP, hold_for_writing, lock_for_reading, unlock_rwlock},
                  {"rwlock-write", 6, ASLEEP, hold_for_reading, lock_for_writing, unlock_rwlock},
                  {"barrier", 7, ASLEEP, nothing, meet, meet},
                  {"spin", 8, SPINNING, hold_spin, lock_spin, unlock_spin},
                  {"futex", 10, ASLEEP, nothing, wait_futex, wake_futex},
                  {"described", 5, SAID_SO, nothing, wait_described, wake_described},
                  {"number", 5, SAID_SO, nothing, wait_number, wake_number},
                  {"private", 0, SAID_SO, nothing, wait_private, wake_private}};

static void init(void) {
  pthread_mutexattr_t mutex;
  pthread_mutexattr_init(&mutex);
  pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
  pthread_mutex_init(&shared->mutex, &mutex);
  pthread_condattr_t condition;
  pthread_condattr_init(&condition);
  pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
  pthread_cond_init(&shared->condition, &condition);
  sem_init(&shared->semaphore, 1, 0);
  pthread_rwlockattr_t rwlock;
  pthread_rwlockattr_init(&rwlock);
  pthread_rwlockattr_setpshared(&rwlock, PTHREAD_PROCESS_SHARED);
  pthread_rwlock_init(&shared->rwlock, &rwlock);
  pthread_barrierattr_t barrier;
  pthread_barrierattr_init(&barrier);
  pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED);
  pthread_barrier_init(&shared->barrier, &barrier, 2);
  pthread_spin_init(&shared->spin, PTHREAD_PROCESS_SHARED);
}

static char state_of(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *f = fopen(path, "r");
  const char *end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
  if (f) fclose(f);
  return end ? end[2] : 0;
}

static long long cpu_ns(pid_t pid) {
  clockid_t clock;
  struct timespec t;
  require(clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &t) == 0, "a process's clock");
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* The child has said that it comes to wait. */
static void wait_until(Moment moment, pid_t child) {
  while (moment == ASLEEP && state_of(child) != 'S') usleep(1000);
  const long long some = moment == SPINNING ? cpu_ns(child) + 5000000 : 0;
  while (moment == SPINNING && cpu_ns(child) < some) sched_yield();
}

static void run(size_t memory, size_t primitive) {
  shared = memories[memory].make();
  init();
  primitives[primitive].prepare();
  vprof_on_behalf(1); /* both processes are in the trace, also without an edge */
  const pid_t child = fork();
  if (child == 0) {
    shared = memories[memory].find_in_child(shared);
    vprof_on_behalf(1);
    primitives[primitive].wait();
    _exit(0);
  }
  while (!shared->waiting) sched_yield();
  wait_until(primitives[primitive].moment, child);
  primitives[primitive].release();
  while (waitpid(child, NULL, WNOHANG) == 0) usleep(1000); /* its end is no edge */
  if (primitives[primitive].class) printf("%d %d %d\n", primitives[primitive].class, (int)child, (int)getpid());
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

int main(int argc, char **argv) {
  for (size_t m = 0; argc == 3 && m < COUNT(memories); ++m)
    for (size_t p = 0; p < COUNT(primitives); ++p)
      if (strcmp(argv[1], memories[m].name) == 0 && strcmp(argv[2], primitives[p].name) == 0) {
        run(m, p);
        return 0;
      }
  return 2;
}
