/* futex_edges SCENARIO: as programs/edges.c, for futexes by system call. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>

#include "forced.h"

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

static const struct scenario scenarios[] = {
    {"wake", futex_wake},
    {"requeue", futex_requeue},
    {"pi", futex_pi},
    {"timeout", futex_timeout},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
