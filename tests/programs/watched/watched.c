/* A "server" whose transactions take about a millisecond, but for one in EVERY, which waits for MS milliseconds for a
 * lock that another thread holds meanwhile, in flush_log. It prints the truth: of each transaction that it has stalled
 * ("stall ID NS"), and of any other that took longer than LIMIT_MS ("slow ID NS"), how long it took by its own clock.
 *
 *     watched TRANSACTIONS EVERY MS LIMIT_MS [FIRST_ID]                                                            */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <vprof/vprof.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER, turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static enum { NOBODY, ASKED, HELD } holder = NOBODY;
static unsigned stall_ms;
static volatile unsigned sink;

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void flush_log(void) {
  for (unsigned part = 0; part < 4; part++) usleep(stall_ms * 250);
}

static void set_holder(int state) {
  pthread_mutex_lock(&turn_lock);
  holder = state;
  pthread_cond_broadcast(&turn);
  pthread_mutex_unlock(&turn_lock);
}

static void wait_for_holder(int state) {
  pthread_mutex_lock(&turn_lock);
  while (holder != (unsigned)state) pthread_cond_wait(&turn, &turn_lock);
  pthread_mutex_unlock(&turn_lock);
}

static void *flusher(void *unused) {
  for (;;) {
    wait_for_holder(ASKED);
    pthread_mutex_lock(&log_lock);
    set_holder(HELD);
    flush_log();
    pthread_mutex_unlock(&log_lock);
  }
  return unused;
}

static void read_row(unsigned id) {
  for (unsigned i = 0; i < 1000 + id % 500; i++) sink += i;
  usleep(100 + id * 37 % 200);
}

static void write_log(int stalls) {
  if (stalls) {
    set_holder(ASKED);
    wait_for_holder(HELD);
  }
  pthread_mutex_lock(&log_lock);
  for (unsigned i = 0; i < 500; i++) sink += i;
  pthread_mutex_unlock(&log_lock);
}

static void serve(unsigned id, int stalls) {
  read_row(id);
  write_log(stalls);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  const unsigned transactions = (unsigned)atol(argv[1]), every = (unsigned)atol(argv[2]);
  const uint64_t limit = (uint64_t)atol(argv[4]) * 1000000u;
  const unsigned first = argc > 5 ? (unsigned)atol(argv[5]) : 1;
  stall_ms = (unsigned)atol(argv[3]);
  setvbuf(stdout, NULL, _IOLBF, 0);
  pthread_t thread;
  pthread_create(&thread, NULL, flusher, NULL);
  for (unsigned n = 1; n <= transactions; n++) {
    const unsigned id = first + n - 1;
    const int stalls = n % every == 0;
    const uint64_t begin = now_ns();
    vprof_interval_begin(id, "pay");
    serve(id, stalls);
    vprof_interval_end(id);
    const uint64_t took = now_ns() - begin;
    if (stalls || took > limit) printf("%s %u %llu\n", stalls ? "stall" : "slow", id, (unsigned long long)took);
    if (stalls) set_holder(NOBODY);
  }
  return 0;
}
