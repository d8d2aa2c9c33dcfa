/* lock_edges SCENARIO: as programs/edges.c, for spin locks, several waiters of a condition, mutexes that die or come
 * again, and for all kinds of locks that nobody waits for. */
#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <threads.h>

#include "forced.h"
#include "vprof/vprof.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

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

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

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

static atomic_int is_watched, is_signalled, is_tried, woke_first;

/* Both sides have done it before: the first time takes longer than "at once". */
static void *wait_when_watched(void *i) {
  const struct timespec until = soon(CLOCK_REALTIME);
  pthread_mutex_lock(&mutex);
  require(pthread_cond_timedwait(&condition, &mutex, &until) == ETIMEDOUT, "pthread_cond_timedwait");
  enter_thread(index_of(i));
  while (is_watched == 0) sched_yield();
  pthread_cond_wait(&condition, &mutex);
  woke_first = 1;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void *lock_before_waiter(void *i) {
  while (is_signalled == 0) sched_yield();
  enter_thread(index_of(i));
  is_tried = 1;
  while (pthread_mutex_trylock(&mutex) != 0) continue;
  const int is_first = woke_first == 0;
  if (is_first) pause_ms(20);
  pthread_mutex_unlock(&mutex);
  return (void *)(intptr_t)is_first;
}

/* The signal comes before the waiter sleeps, mostly: it sleeps for the mutex then, which another thread gets first. */
static void signal_at_once(void) {
  pthread_cond_signal(&condition);
  pthread_t waiter = start_as(0, wait_when_watched), third = start_as(1, lock_before_waiter);
  wait_for_tid(0);
  is_watched = 1;
  while (pthread_mutex_trylock(&mutex) != 0) continue;
  pthread_cond_signal(&condition);
  wait_until_asleep(0);
  is_signalled = 1;
  while (is_tried == 0) sched_yield();
  pthread_mutex_unlock(&mutex);
  void *third_was_first;
  pthread_join(third, &third_was_first);
  join_ended(waiter, 0);
  expect(2, tid_of[0], 0);
  expect(2, tid_of[0], self());
  if (third_was_first != NULL)
    expect(1, tid_of[0], tid_of[1]);
  else
    allow(1, tid_of[0], self());
  allow(4, self(), tid_of[1]);
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

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t c11_mutex;
static sem_t semaphore;
static int word;

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
    syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
  }
  vprof_on_behalf(1); /* so that there is a thread in the trace */
}

static const struct scenario scenarios[] = {
    {"spin", spin_lock}, {"many-signals", many_signals}, {"signal-at-once", signal_at_once}, {"owner-died", owner_died},
    {"reused", reused},  {"uncontended", uncontended},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
