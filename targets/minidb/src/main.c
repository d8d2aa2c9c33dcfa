/* minidb: runs the engine and its load for a while, then prints how long the transactions took. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "load.h"
#include "memory.h"
#include "options.h"
#include "recovery.h"
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

static void print_recovered(const struct engine_options *options) {
  struct table table;
  table_init(&table, options->rows, false);
  struct recovery found = recover(options->log_folder, &table);
  report_recovery(&found, &table);
  table_destroy(&table);
}

static int open_replies(const char *name) {
  int descriptor = name ? open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (name && descriptor < 0) {
    perror("minidb: cannot open the file of replies");
    exit(1);
  }
  return descriptor;
}

static FILE *open_slow(const char *name) {
  FILE *slow = name ? fopen(name, "ae") : NULL;
  if (name && !slow) {
    perror("minidb: cannot open the file of slow transactions");
    exit(1);
  }
  if (slow) setvbuf(slow, NULL, _IOLBF, 0);
  return slow;
}

int main(int argc, char **argv) {
  struct options options = options_parse(argc, argv);
  if (options.recover) {
    print_recovered(&options.engine);
    return 0;
  }
  sigset_t signals = block_end_signals();
  struct engine engine;
  engine_start(&engine, &options.engine);
  struct contention contention;
  if (options.contention) contention_init(&contention, options.contention, options.engine.rows);
  struct load load = {.engine = &engine,
                      .requests = {.pathology = options.pathology,
                                   .amount = options.amount,
                                   .rows = options.engine.rows,
                                   .contention = options.contention ? &contention : NULL},
                      .seed = options.engine.seed,
                      .rate = options.rate,
                      .client_count = options.clients,
                      .replies = open_replies(options.replies),
                      .stall_every = options.stall_every,
                      .slow = open_slow(options.slow)};
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
  if (load.replies >= 0) close(load.replies);
  if (options.contention) contention_destroy(&contention);
  return 0;
}
