/* minidb: runs the engine and its load for a while, then prints how long the transactions took. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "engine.h"
#include "load.h"
#include "memory.h"
#include "options.h"
#include "report.h"
#include "spin.h"

/* Threads started later inherit the mask, so that only wait_for_end sees these signals. */
static sigset_t block_end_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  return signals;
}

static void wait_for_end(const sigset_t *signals, double seconds) {
  struct timespec timeout = {.tv_sec = (time_t)seconds};
  timeout.tv_nsec = (long)((seconds - (double)timeout.tv_sec) * 1e9);
  sigtimedwait(signals, NULL, &timeout);
}

int main(int argc, char **argv) {
  struct options options = options_parse(argc, argv);
  sigset_t signals = block_end_signals();
  struct engine engine;
  engine_start(&engine, &options.engine);
  struct load load = {.engine = &engine,
                      .pathology = options.pathology,
                      .amount = options.amount,
                      .seed = options.engine.seed,
                      .rows = options.engine.rows,
                      .client_count = options.clients};
  int64_t begin_ns = now_ns();
  load_start(&load);
  wait_for_end(&signals, options.seconds);
  size_t count;
  int64_t *latencies_ns = load_stop(&load, &count);
  double seconds = (double)(now_ns() - begin_ns) / 1e9;
  engine_stop(&engine);
  printf("%-12s %10s\n", "pathology", options.pathology->name);
  printf("%-12s %10" PRIx64 "\n", "requests", load_checksum(&load));
  report_latencies(latencies_ns, count, seconds);
  release(latencies_ns);
  return 0;
}
