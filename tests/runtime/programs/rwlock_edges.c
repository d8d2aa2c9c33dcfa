/* rwlock_edges SCENARIO: as programs/edges.c, for read-write locks. */
#include <errno.h>

#include "forced.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int flag;

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

/* Of a lock that was waited for before: a reader comes while a writer waits, and leaves after the one who was there. */
static void rwlock_readers_in_turn(void) {
  rwlock_last_reader();
  pthread_t first = start_as(4, read_until_flag);
  wait_for_tid(4);
  pthread_t writer = start_as(3, lock_to_write);
  wait_until_asleep(3);
  pthread_t second = start_as(5, read_until_flag);
  wait_for_tid(5);
  flag = 4;
  join_ended(first, 4);
  flag = 5;
  join_ended(second, 5);
  join_ended(writer, 3);
  expect(6, tid_of[3], tid_of[5]);
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

static const struct scenario scenarios[] = {
    {"last-reader", rwlock_last_reader}, {"readers-in-turn", rwlock_readers_in_turn},
    {"writer", rwlock_writer},           {"writers", rwlock_writers},
    {"timeout", rwlock_timeout},
};

int main(int argc, char **argv) {
  return run_scenario(scenarios, sizeof scenarios / sizeof *scenarios, argc, argv);
}
