/* lock_edges SCENARIO: as programs/edges.c, for what threads wait for in memory: read-write and spin locks, barriers,
 * once, C11, futexes, and the ways out of a wait that nobody ends. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <threads.h>

#include "forced.h"
#include "vprof/vprof.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int flag;

static int index_of(void *argument) {
  return (int)(intptr_t)argument;
}

/* Read-write locks */

static void *read_until_flag(void *i) {
  pthread_rwlock_rdlock(&rwlock);
  enter_thread(index_of(i));
  while (flag < index_of(i)) sched_yield();
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}

static void *lock_to_read(void *i) {
  enter_thread(index_of(i));
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}

static void *lock_to_write(void *i) {
  enter_thread(index_of(i));
  pthread_rwlock_wrlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return NULL;
}

/* Two readers; the last one out wakes the writer. */
static void rwlock_last_reader(void) {
  pthread_t readers[2] = {start_as(1, read_until_flag), start_as(2, read_until_flag)};
  wait_for_tid(1);
  wait_for_tid(2);
  pthread_t writer = start_as(0, lock_to_write);
  wait_until_asleep(0);
  flag = 1;
  join_ended(readers[0], 1);
  flag = 2;
  join_ended(readers[1], 2);
  join_ended(writer, 0);
  expect(6, tid_of[0], tid_of[2]);
}

/* A writer wakes all readers, however they leave again. */
static void rwlock_writer(void) {
  pthread_rwlock_wrlock(&rwlock);
  pthread_t readers[3];
  for (int i = 0; i < 3; ++i) readers[i] = start_as(i, lock_to_read);
  for (int i = 0; i < 3; ++i) wait_until_asleep(i);
  pthread_rwlock_unlock(&rwlock);
  for (int i = 0; i < 3; ++i) join_ended(readers[i], i);
  for (int i = 0; i < 3; ++i) expect(6, tid_of[i], self());
}

static void rwlock_writers(void) {
  pthread_rwlock_wrlock(&rwlock);
  pthread_t writer = start_as(0, lock_to_write);
  wait_until_asleep(0);
  pthread_rwlock_unlock(&rwlock);
  join_ended(writer, 0);
  expect(6, tid_of[0], self());
}

static void *read_in_time(void *i) {
  enter_thread(index_of(i));
  const struct timespec until = soon(CLOCK_REALTIME);
  require(pthread_rwlock_timedrdlock(&rwlock, &until) == ETIMEDOUT, "timedrdlock");
  require(pthread_rwlock_timedwrlock(&rwlock, &until) == ETIMEDOUT, "timedwrlock");
  return NULL;
}

static void rwlock_timeout(void) {
  pthread_rwlock_wrlock(&rwlock);
  join_ended(start_as(0, read_in_time), 0);
  pthread_rwlock_unlock(&rwlock);
  expect(6, tid_of[0], 0);
  expect(6, tid_of[0], 0);
}

/* Spin locks */

static pthread_spinlock_t spin;

static void *lock_spin(void *i) {
  enter_thread(index_of(i));
  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
  return NULL;
}

static void spin_lock(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_lock(&spin);
  pthread_t waiter = start_as(0, lock_spin);
  wait_until_spinning(0, waiter);
  pthread_spin_unlock(&spin);
  join_ended(waiter, 0);
  expect(8, tid_of[0], self());
}

/* Barriers */

static pthread_barrier_t barrier;

static void *meet_thrice(void *i) {
  enter_thread(index_of(i));
  for (int round = 0; round < 3; ++round) pthread_barrier_wait(&barrier);
  return NULL;
}

/* In each round main comes last, when the others sleep. */
static void barrier_rounds(void) {
  pthread_barrier_init(&barrier, NULL, 3);
  pthread_t others[2] = {start_as(0, meet_thrice), start_as(1, meet_thrice)};
  for (int round = 0; round < 3; ++round) {
    do {
      pause_ms(20);
      wait_until_asleep(0);
      wait_until_asleep(1);
    } while (state_of(tid_of[0]) != 'S');
    pthread_barrier_wait(&barrier);
  }
  for (int i = 0; i < 2; ++i) join_ended(others[i], i);
  for (int i = 0; i < 6; ++i) expect(7, tid_of[i % 2], self());
}

/* Once */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static once_flag c11_once = ONCE_FLAG_INIT;

static void begin_slowly(void) {
  flag = 1;
  wait_until_asleep(1);
}

static void *begin_once(void *i) {
  enter_thread(index_of(i));
  pthread_once(&once, begin_slowly);
  pthread_once(&once, begin_slowly); /* done: no edge */
  return NULL;
}

static void *begin_c11_once(void *i) {
  enter_thread(index_of(i));
  call_once(&c11_once, begin_slowly);
  return NULL;
}

static void run_once_with(void *(*routine)(void *)) {
  pthread_t first = start_as(0, routine);
  while (!flag) sched_yield();
  pthread_t second = start_as(1, routine);
  join_ended(first, 0);
  join_ended(second, 1);
  expect(9, tid_of[1], tid_of[0]);
}

static void once_posix(void) {
  run_once_with(begin_once);
}
static void once_c11(void) {
  run_once_with(begin_c11_once);
}

/* C11 */

static mtx_t c11_mutex;
static cnd_t c11_condition;

static void *lock_c11(void *i) {
  enter_thread(index_of(i));
  mtx_lock(&c11_mutex);
  mtx_unlock(&c11_mutex);
  return NULL;
}

static void c11_mutexes(void) {
  mtx_init(&c11_mutex, mtx_plain);
  mtx_lock(&c11_mutex);
  pthread_t waiter = start_as(0, lock_c11);
  wait_until_asleep(0);
  mtx_unlock(&c11_mutex);
  join_ended(waiter, 0);
  expect(1, tid_of[0], self());
}

static void *wait_c11(void *i) {
  mtx_lock(&c11_mutex);
  enter_thread(index_of(i));
  cnd_wait(&c11_condition, &c11_mutex);
  mtx_unlock(&c11_mutex);
  return NULL;
}

static void c11_conditions(void) {
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  pthread_t waiter = start_as(0, wait_c11);
  wait_until_asleep(0);
  cnd_signal(&c11_condition);
  join_ended(waiter, 0);
  expect(2, tid_of[0], self());
}

static thrd_t c11_thread;

static int end_when_joined(void *i) {
  enter_thread(index_of(i));
  wait_until_asleep(1);
  return 17;
}

static void *join_c11(void *i) {
  int result;
  enter_thread(index_of(i));
  require(thrd_join(c11_thread, &result) == thrd_success && result == 17, "thrd_join");
  return NULL;
}

static void c11_join(void) {
  thrd_create(&c11_thread, end_when_joined, (void *)0);
  join_ended(start_as(1, join_c11), 1);
  expect(4, tid_of[1], tid_of[0]);
}

/* Several waiters */

static void *wait_condition(void *i) {
  pthread_mutex_lock(&mutex);
  enter_thread(index_of(i));
  pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* One after another, so that none waits for the mutex. */
static void many_signals(void) {
  pthread_t waiters[4];
  for (int i = 0; i < 4; ++i) {
    waiters[i] = start_as(i, wait_condition);
    wait_until_asleep(i);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_cond_signal(&condition);
    int gone = 0;
    while (gone <= i) {
      gone = 0;
      for (int k = 0; k < 4; ++k) gone += state_of(tid_of[k]) == 0;
      pause_ms(1);
    }
  }
  for (int i = 0; i < 4; ++i) join_ended(waiters[i], i);
  for (int i = 0; i < 4; ++i) expect(2, tid_of[i], self());
}

static sem_t semaphore;

static void *wait_semaphore(void *i) {
  enter_thread(index_of(i));
  sem_wait(&semaphore);
  return NULL;
}

static void many_posts(void) {
  sem_init(&semaphore, 0, 0);
  pthread_t waiters[4];
  for (int i = 0; i < 4; ++i) waiters[i] = start_as(i, wait_semaphore);
  for (int i = 0; i < 4; ++i) wait_until_asleep(i);
  for (int i = 0; i < 4; ++i) sem_post(&semaphore);
  for (int i = 0; i < 4; ++i) join_ended(waiters[i], i);
  for (int i = 0; i < 4; ++i) expect(3, tid_of[i], self());
}

/* Ends that are nobody's, or another's */

static void nothing(int signal) {
  (void)signal;
}

static void let_signals_interrupt(void) {
  struct sigaction action = {.sa_handler = nothing};
  sigaction(SIGUSR1, &action, NULL);
}

static void *wait_interrupted(void *i) {
  enter_thread(index_of(i));
  require(sem_wait(&semaphore) == -1 && errno == EINTR, "sem_wait");
  return NULL;
}

static void interrupted(void) {
  let_signals_interrupt();
  sem_init(&semaphore, 0, 0);
  pthread_t waiter = start_as(0, wait_interrupted);
  wait_until_asleep(0);
  pthread_kill(waiter, SIGUSR1);
  join_ended(waiter, 0);
  expect(3, tid_of[0], self());
}

static void cancelled(void) {
  sem_init(&semaphore, 0, 0);
  pthread_t waiter = start_as(0, wait_semaphore);
  wait_until_asleep(0);
  pthread_cancel(waiter);
  join_ended(waiter, 0);
  expect(3, tid_of[0], 0);
}

static void *die_with_mutex(void *i) {
  pthread_mutex_lock(&mutex);
  enter_thread(index_of(i));
  wait_until_asleep(1);
  return NULL;
}

static void *inherit_mutex(void *i) {
  wait_for_tid(0);
  enter_thread(index_of(i));
  require(pthread_mutex_lock(&mutex) == EOWNERDEAD, "robust mutex");
  pthread_mutex_consistent(&mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void owner_died(void) {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &robust);
  pthread_t owner = start_as(0, die_with_mutex), heir = start_as(1, inherit_mutex);
  join_ended(owner, 0);
  join_ended(heir, 1);
  expect(1, tid_of[1], 0);
}

static void *lock_mutex(void *i) {
  enter_thread(index_of(i));
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void *unlock_after_wait(void *i) {
  pthread_mutex_lock(&mutex);
  enter_thread(index_of(i));
  wait_until_asleep(2);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* A new mutex where another was: only its own releases count. */
static void reused(void) {
  pthread_mutex_lock(&mutex);
  pthread_t first = start_as(0, lock_mutex);
  wait_until_asleep(0);
  pthread_mutex_unlock(&mutex);
  join_ended(first, 0);
  pthread_mutex_destroy(&mutex);
  pthread_mutex_init(&mutex, NULL);
  pthread_t holder = start_as(1, unlock_after_wait);
  wait_for_tid(1);
  pthread_t second = start_as(2, lock_mutex);
  join_ended(holder, 1);
  join_ended(second, 2);
  expect(1, tid_of[0], self());
  expect(1, tid_of[2], tid_of[1]);
}

/* Futexes by system call */

static int word, other_word;

static long futex(int *address, int operation, int value, void *timeout, int *address2, int value3) {
  return syscall(SYS_futex, address, operation, value, timeout, address2, value3);
}

static void *wait_futex(void *i) {
  require(futex(&word, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN, "another value: no wait");
  enter_thread(index_of(i));
  futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, -1);
  return NULL;
}

static void futex_wake(void) {
  pthread_t waiters[2] = {start_as(0, wait_futex), start_as(1, wait_futex)};
  wait_until_asleep(0);
  wait_until_asleep(1);
  futex(&word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
  for (int i = 0; i < 2; ++i) join_ended(waiters[i], i);
  for (int i = 0; i < 2; ++i) expect(10, tid_of[i], self());
}

static void *wake_other(void *i) {
  enter_thread(index_of(i));
  futex(&other_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  return NULL;
}

/* Moved by main, woken at the other futex by a thread. */
static void futex_requeue(void) {
  pthread_t waiter = start_as(0, wait_futex);
  wait_until_asleep(0);
  require(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &other_word, 0) == 1, "requeue");
  join_ended(start_as(1, wake_other), 1);
  join_ended(waiter, 0);
  expect(10, tid_of[0], tid_of[1]);
}

static void *lock_pi(void *i) {
  enter_thread(index_of(i));
  require(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0, "lock");
  require(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0, "unlock");
  return NULL;
}

static void futex_pi(void) {
  require(futex(&word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0, "free: no edge");
  pthread_t waiter = start_as(0, lock_pi);
  wait_until_asleep(0);
  futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
  join_ended(waiter, 0);
  expect(10, tid_of[0], self());
}

static void *wait_futex_in_time(void *i) {
  struct timespec time = {0, 20000000};
  enter_thread(index_of(i));
  require(futex(&word, FUTEX_WAIT, 0, &time, NULL, 0) == -1 && errno == ETIMEDOUT, "timeout");
  return NULL;
}

static void futex_timeout(void) {
  join_ended(start_as(0, wait_futex_in_time), 0);
  expect(10, tid_of[0], 0);
}

/* System V semaphores */

static int set;

static void *lower(void *i) {
  struct sembuf free_one = {0, -1, 0}, one = {1, -2, 0};
  semop(set, &free_one, 1);
  enter_thread(index_of(i));
  require(semop(set, &one, 1) == 0, "semop");
  return NULL;
}

static void system_v_semaphore(void) {
  struct sembuf first = {0, 1, 0}, up = {1, 1, 0};
  set = semget(IPC_PRIVATE, 2, 0600);
  require(set >= 0 && semop(set, &first, 1) == 0, "semget");
  pthread_t waiter = start_as(0, lower);
  wait_until_asleep(0);
  semop(set, &up, 1);
  semop(set, &up, 1);
  join_ended(waiter, 0);
  semctl(set, 0, IPC_RMID);
  expect(3, tid_of[0], self());
}

/* Nobody waits: no record. */
static void uncontended(void) {
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  mtx_init(&c11_mutex, mtx_plain);
  sem_init(&semaphore, 0, 0);
  for (int i = 0; i < 1000; ++i) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    mtx_lock(&c11_mutex);
    mtx_unlock(&c11_mutex);
    sem_post(&semaphore);
    sem_wait(&semaphore);
    futex(&word, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
  vprof_on_behalf(1); /* so that there is a thread in the trace */
}

static const struct scenario scenarios[] = {{"rwlock-last-reader", rwlock_last_reader},
                                            {"rwlock-writer", rwlock_writer},
                                            {"rwlock-writers", rwlock_writers},
                                            {"rwlock-timeout", rwlock_timeout},
                                            {"spin", spin_lock},
                                            {"barrier", barrier_rounds},
                                            {"once", once_posix},
                                            {"once-c11", once_c11},
                                            {"c11-mutex", c11_mutexes},
                                            {"c11-condition", c11_conditions},
                                            {"c11-join", c11_join},
                                            {"many-signals", many_signals},
                                            {"many-posts", many_posts},
                                            {"interrupted", interrupted},
                                            {"cancelled", cancelled},
                                            {"owner-died", owner_died},
                                            {"reused", reused},
                                            {"futex", futex_wake},
                                            {"futex-requeue", futex_requeue},
                                            {"futex-pi", futex_pi},
                                            {"futex-timeout", futex_timeout},
                                            {"system-v-semaphore", system_v_semaphore},
                                            {"uncontended", uncontended}};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
