#define _GNU_SOURCE
#include "run.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "clock.h"
#include "memory.h"
#include "progress.h"
#include "result.h"

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_CUT_SHORT = 3 };

static const int64_t lead_ns = 20 * NS_PER_MS;    /* from the gate to the first start: every thread is asleep again */
static const int64_t patience_ns = 10 * NS_PER_S; /* with what is under way at the end */

void run_end_now(struct run *run) {
  int64_t end_ns = now_ns();
  if (end_ns < run->begin_ns) end_ns = run->begin_ns; /* within the warm-up: nothing counts */
  if (end_ns < atomic_load(&run->end_ns)) atomic_store(&run->end_ns, end_ns);
  atomic_store(&run->stop, true);
}

void run_cut_short(struct run *run, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&run->mutex);
  if (!*run->cut_short) vsnprintf(run->cut_short, sizeof run->cut_short, format, arguments);
  pthread_mutex_unlock(&run->mutex);
  va_end(arguments);
  run_end_now(run);
}

void run_note_error(struct run *run, const char *type, const char *error) {
  pthread_mutex_lock(&run->mutex);
  if (!*run->first_error) snprintf(run->first_error, sizeof run->first_error, "%s: %s", type, error);
  pthread_mutex_unlock(&run->mutex);
}

/* Threads started later inherit the mask, so that only this one sees these signals. */
static sigset_t block_end_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  return signals;
}

static size_t largest_arguments(const struct workload *workload) {
  size_t largest = 1;
  for (size_t i = 0; i < workload->type_count; i++) {
    if (workload->types[i].arguments_size > largest) largest = workload->types[i].arguments_size;
  }
  return largest;
}

static void init_client(struct run *run, int number) {
  struct client_thread *thread = &run->threads[number];
  const struct load_options *load = &run->options->load;
  pthread_mutex_init(&thread->mutex, NULL);
  thread->run = run;
  thread->client.options = load;
  thread->client.number = number;
  thread->arguments = allocate(1, largest_arguments(run->options->workload));
  random_seed(&thread->client.random, load->seed, (uint64_t)number);
}

/* All connections, before any thread: what goes wrong is said once. */
static int connect_clients(struct run *run) {
  char error[300] = "";
  const int clients = run->options->load.clients;
  run->threads = allocate((size_t)clients, sizeof *run->threads);
  for (int i = 0; i < clients; i++) {
    init_client(run, i);
    run->thread_count = i + 1;
    if (client_connect(&run->threads[i], error, sizeof error) != 0) {
      complain("%s", error);
      return -1;
    }
  }
  snprintf(run->server, sizeof run->server, "%s", db_server_version(run->threads[0].client.db));
  return 0;
}

static void disconnect_clients(struct run *run) {
  for (int i = 0; i < run->thread_count; i++) {
    client_disconnect(&run->threads[i]);
    free(run->threads[i].arguments);
  }
}

static void start_threads(struct run *run) {
  pthread_barrier_init(&run->gate, NULL, (unsigned)run->thread_count + 1);
  atomic_store(&run->active, run->thread_count);
  for (int i = 0; i < run->thread_count; i++) {
    const int error = pthread_create(&run->threads[i].thread, NULL, client_main, &run->threads[i]);
    if (!error) continue;
    complain("cannot start thread %d of %d: %s", i + 1, run->thread_count, strerror(error));
    exit(EXIT_ERROR); /* those that wait at the gate have done nothing */
  }
}

/* What is set here is seen by all threads, which wait at the gate. Returns 0, or an errno. */
static int open_gate(struct run *run) {
  const struct driver_options *options = run->options;
  run->first_ns = now_ns() + lead_ns;
  run->begin_ns = run->first_ns + (int64_t)(options->warmup * 1e9);
  atomic_store(&run->end_ns, run->begin_ns + (int64_t)(options->seconds * 1e9));
  if (options->rate > 0) {
    arrivals_init(&run->arrivals, options->rate, options->even, options->load.seed, run->first_ns);
  }
  const int error = lateness_start(&run->lateness, &run->file, (uint32_t)options->workload->type_count, run->begin_ns,
                                   &run->end_ns, &run->stop);
  if (error) return error;
  pthread_barrier_wait(&run->gate);
  latency_file_begin(&run->file, options->workload, run->begin_ns);
  return 0;
}

/* A tenth of a second at most, less if a signal comes. */
static void wait_a_little(struct run *run, const sigset_t *signals, int64_t until_ns) {
  int64_t wait_ns = until_ns - now_ns();
  if (wait_ns <= 0) return;
  if (wait_ns > 100 * NS_PER_MS) wait_ns = 100 * NS_PER_MS;
  const struct timespec timeout = {.tv_nsec = wait_ns};
  if (sigtimedwait(signals, NULL, &timeout) > 0) {
    if (run->interrupted) atomic_store(&run->giving_up, true); /* twice: at once */
    run->interrupted = true;
    run_end_now(run);
  }
}

static int64_t cpu_now_ns(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * NS_PER_S + used.tv_nsec;
}

static void tend(struct run *run, struct progress *progress) {
  lateness_write(&run->lateness);
  if (run->options->progress) progress_tell(progress, run);
  const int error = atomic_load(&run->file.error);
  if (error && !atomic_load(&run->stop)) run_cut_short(run, "%s: %s", run->options->latencies, strerror(error));
}

static void wait_until(struct run *run, const sigset_t *signals, struct progress *progress,
                       const _Atomic int64_t *until_ns) {
  while (now_ns() < atomic_load(until_ns) && !atomic_load(&run->stop)) {
    wait_a_little(run, signals, atomic_load(until_ns));
    tend(run, progress);
  }
}

static void interrupt_clients(struct run *run) {
  for (int i = 0; i < run->thread_count; i++) client_interrupt(&run->threads[i]);
}

/* What is under way may end in order, for a while or until a second signal; then its connections are shut down. */
static void wait_for_clients(struct run *run, const sigset_t *signals) {
  const int64_t until_ns = now_ns() + patience_ns;
  while (atomic_load(&run->active) > 0) {
    wait_a_little(run, signals, now_ns() + 5 * NS_PER_MS);
    if (now_ns() >= until_ns) atomic_store(&run->giving_up, true);
    if (atomic_load(&run->giving_up)) interrupt_clients(run);
  }
  for (int i = 0; i < run->thread_count; i++) pthread_join(run->threads[i].thread, NULL);
}

/* Nothing is left out: what no client came to begin is on record as well. */
static void record_unbegun(struct run *run) {
  struct client_thread *thread = &run->threads[0];
  const int64_t end_ns = atomic_load(&run->end_ns);
  if (run->options->rate <= 0) return;
  for (int64_t due_ns = arrivals_take(&run->arrivals); due_ns < end_ns; due_ns = arrivals_take(&run->arrivals)) {
    client_record_unbegun(thread, mix_draw(&run->mix, &thread->client.random), due_ns);
  }
  latency_file_flush(&run->file, &thread->block);
}

static void measure(struct run *run, const sigset_t *signals) {
  struct progress progress = {0};
  const _Atomic int64_t begin_ns = run->begin_ns;
  wait_until(run, signals, &progress, &begin_ns);
  const int64_t cpu_begin_ns = cpu_now_ns();
  wait_until(run, signals, &progress, &run->end_ns);
  run->cpu_ns = cpu_now_ns() - cpu_begin_ns;
  atomic_store(&run->stop, true);
  wait_for_clients(run, signals);
  lateness_join(&run->lateness);
  record_unbegun(run);
}

static int conclude(struct run *run) {
  const int error = latency_file_close(&run->file);
  if (error) run_cut_short(run, "%s: %s", run->options->latencies, strerror(error));
  result_print(run);
  if (!*run->cut_short) return EXIT_OK;
  complain("the run was cut short: %s", run->cut_short);
  return EXIT_CUT_SHORT;
}

int run_load(const struct driver_options *options) {
  static struct run run = {.mutex = PTHREAD_MUTEX_INITIALIZER};
  run.options = options;
  mix_parse(&run.mix, options->workload, options->load.mix); /* which options.c has checked */
  if (options->workload->begin && options->workload->begin(&options->load) != 0) return EXIT_ERROR;
  if (connect_clients(&run) != 0) return EXIT_ERROR;
  const sigset_t signals = block_end_signals();
  int error = latency_file_open(&run.file, options->latencies);
  if (error) {
    complain("%s: %s", options->latencies, strerror(error));
    exit(EXIT_ERROR);
  }
  start_threads(&run);
  error = open_gate(&run);
  if (error) {
    complain("cannot start the thread of lateness: %s", strerror(error));
    exit(EXIT_ERROR);
  }
  measure(&run, &signals);
  disconnect_clients(&run);
  return conclude(&run);
}
