/* runtime MODE THREADS CALLS: CPU time per call of a function that does nothing, by thread; CALLS is a multiple of
 * 20,000. MODE `probe` runs one with a probe, `caller` one that also numbers a call, both as they are switched; `plain`
 * one without a probe, `floor` one that reads the clock twice and stores the difference. Prints `ready`, waits for a
 * line, then prints each thread's bursts. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

#include "bursts.h"

/* runtime_bodies.c or runtime_light.c */
void probed(void);
void probed_caller(void);

enum { MOST_THREADS = 64 };

static long bursts;
static void (*function)(void);
static __thread volatile uint64_t sink;

__attribute__((noinline)) static void plain(void) {
  __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void two_clocks(void) {
  const uint64_t start = __rdtsc();
  __asm__ volatile("" ::: "memory");
  sink = __rdtsc() - start;
}

static void *measure(void *results) {
  measure_bursts(function, bursts, results);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int threads = atoi(argv[2]);
  pthread_t ids[MOST_THREADS];
  bursts = atol(argv[3]) / BURST;
  if (threads < 1 || threads > MOST_THREADS || bursts < 1) return 2;
  struct burst *results = calloc((size_t)(threads * bursts), sizeof *results);
  function = probed;
  if (strcmp(argv[1], "plain") == 0) function = plain;
  if (strcmp(argv[1], "floor") == 0) function = two_clocks;
  if (strcmp(argv[1], "caller") == 0) function = probed_caller;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 2;
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, measure, results + i * bursts);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  print_bursts(results, threads * bursts);
  return 0;
}
