/* c11_edges SCENARIO: as programs/edges.c, for the primitives of <threads.h>. */
#include <threads.h>

#include "forced.h"

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

static const struct scenario scenarios[] = {
    {"mutex", c11_mutexes},
    {"condition", c11_conditions},
    {"join", c11_join},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
