/* meeting_edges SCENARIO: as programs/edges.c, for barriers and once. */
#include <threads.h>

#include "forced.h"

static atomic_int flag;

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

static const struct scenario scenarios[] = {
    {"barrier", barrier_rounds},
    {"once", once_posix},
    {"once-c11", once_c11},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
