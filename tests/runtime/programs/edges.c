/* edges SCENARIO: forces one schedule of threads and prints the edges that must be recorded, one per line:
 *     CLASS waiter waker      (TRACE_FORMAT.md 2.1; tids; waker 0 = unknown), or `created child creator`.
 * The schedule is forced by shared flags and by looking until the waiter sleeps, so no other primitive leaves an edge.
 */
#include <errno.h>
#include <semaphore.h>

#include "forced.h"
#include "vprof/vprof.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static atomic_int flag, second_has_mutex;

static void start(pthread_t *thread, void *(*routine)(void *)) {
  pthread_create(thread, NULL, routine, NULL);
}

static void *lock_once(void *unused) {
  (void)unused;
  enter_thread(0);
  pthread_mutex_lock(&mutex);
  while (flag == 0) sched_yield();
  if (flag == 2) wait_until_asleep(1);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void *lock_second(void *unused) {
  (void)unused;
  while (flag != 2) sched_yield();
  enter_thread(1);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void mutex_contended(void) {
  pthread_t a;
  pthread_mutex_lock(&mutex);
  start(&a, lock_once);
  wait_until_asleep(0);
  flag = 1;
  pthread_mutex_unlock(&mutex);
  join_ended(a, 0);
  printf("1 %d %d\n", tid_of[0], self());
}

static void mutex_chain(void) {
  pthread_t a, b;
  pthread_mutex_lock(&mutex);
  start(&a, lock_once);
  start(&b, lock_second);
  wait_until_asleep(0);
  pthread_mutex_unlock(&mutex);
  while (pthread_mutex_trylock(&mutex) == 0) pthread_mutex_unlock(&mutex); /* until the first has it */
  flag = 2;
  join_ended(a, 0);
  join_ended(b, 1);
  printf("1 %d %d\n1 %d %d\n", tid_of[0], self(), tid_of[1], tid_of[0]);
}

static void *hammer(void *unused) {
  for (int i = 0; i < 200000; ++i) {
    pthread_mutex_lock(&mutex);
    for (volatile int k = 0; k < 50; ++k) continue;
    pthread_mutex_unlock(&mutex);
  }
  return unused;
}

/* Not forced: three threads contend for short holds. */
static void mutex_storm(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) start(&threads[i], hammer);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}

static void mutex_free(void) {
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  vprof_on_behalf(1); /* so that there is a thread in the trace */
}

static void *wait_condition(void *unused) {
  (void)unused;
  pthread_mutex_lock(&mutex);
  enter_thread(0);
  pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void condition_signal(void) {
  pthread_t a;
  start(&a, wait_condition);
  wait_until_asleep(0);
  pthread_cond_signal(&condition);
  join_ended(a, 0);
  printf("2 %d %d\n", tid_of[0], self());
}

static void *hold_mutex(void *unused) {
  (void)unused;
  enter_thread(1);
  pthread_mutex_lock(&mutex);
  second_has_mutex = 1;
  while (flag == 0) sched_yield();
  pthread_mutex_unlock(&mutex);
  return NULL;
}

/* Signalled by main, then kept from the mutex by another thread: two waits. */
static void condition_then_mutex(void) {
  pthread_t a, b;
  start(&a, wait_condition);
  wait_until_asleep(0);
  start(&b, hold_mutex);
  while (!second_has_mutex) sched_yield();
  pthread_cond_broadcast(&condition);
  pause_ms(20);
  flag = 1;
  join_ended(a, 0);
  join_ended(b, 1);
  printf("2 %d %d\n", tid_of[0], self());
  printf("1 %d %d\n", tid_of[0], tid_of[1]);
}

static void condition_timeout(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += until.tv_nsec > 979999999;
  until.tv_nsec = (until.tv_nsec + 20000000) % 1000000000;
  pthread_mutex_lock(&mutex);
  pthread_cond_timedwait(&condition, &mutex, &until);
  pthread_mutex_unlock(&mutex);
  printf("2 %d 0\n", self());
}

static void *wait_semaphore(void *unused) {
  (void)unused;
  enter_thread(0);
  while (sem_wait(&semaphore) != 0 && errno == EINTR) continue;
  return NULL;
}

static void semaphore_post(void) {
  pthread_t a;
  sem_init(&semaphore, 0, 1);
  sem_wait(&semaphore); /* free: no edge */
  start(&a, wait_semaphore);
  wait_until_asleep(0);
  sem_post(&semaphore);
  join_ended(a, 0);
  printf("3 %d %d\n", tid_of[0], self());
}

static pthread_t joined;

static void *end_when_joined(void *unused) {
  (void)unused;
  enter_thread(0);
  wait_until_asleep(1);
  return NULL;
}

static void *join_first(void *unused) {
  (void)unused;
  enter_thread(1);
  pthread_join(joined, NULL);
  return NULL;
}

static void join(void) {
  pthread_t b;
  start(&joined, end_when_joined);
  start(&b, join_first);
  join_ended(b, 1);
  printf("4 %d %d\n", tid_of[1], tid_of[0]);
}

static void *wait_described(void *unused) {
  (void)unused;
  vprof_wait_begin(7); /* nobody wakes: no record */
  vprof_wait_end(7);
  vprof_wait_begin(42);
  enter_thread(0);
  while (flag == 0) sched_yield();
  vprof_wait_end(42);
  return NULL;
}

static void described(void) {
  pthread_t a;
  start(&a, wait_described);
  wait_for_tid(0);
  vprof_wake(42);
  flag = 1;
  vprof_wake_done(42);
  join_ended(a, 0);
  printf("5 %d %d\n", tid_of[0], self());
}

static void *do_something(void *unused) {
  (void)unused;
  enter_thread(0);
  vprof_on_behalf(1);
  return NULL;
}

static void created(void) {
  pthread_t a;
  start(&a, do_something);
  join_ended(a, 0);
  printf("created %d %d\n", tid_of[0], self());
}

static const struct scenario scenarios[] = {{"mutex", mutex_contended},
                                            {"mutex-chain", mutex_chain},
                                            {"mutex-free", mutex_free},
                                            {"mutex-storm", mutex_storm},
                                            {"condition", condition_signal},
                                            {"condition-then-mutex", condition_then_mutex},
                                            {"condition-timeout", condition_timeout},
                                            {"semaphore", semaphore_post},
                                            {"join", join},
                                            {"described", described},
                                            {"created", created}};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
