#include "client.h"

#include <stdio.h>

#include "clock.h"

static const int64_t reconnect_for_ns = 5 * NS_PER_S;
static const int64_t reconnect_each_ns = 200 * NS_PER_MS;

static void count(_Atomic int64_t *counter, int64_t by) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

static void set_db(struct client_thread *thread, struct db *db) {
  pthread_mutex_lock(&thread->mutex);
  thread->client.db = db;
  pthread_mutex_unlock(&thread->mutex);
}

static int connect_with_isolation(struct client_thread *thread, char *error, size_t size) {
  const struct load_options *options = thread->client.options;
  struct db *db = db_open(&options->server, error, size);
  if (!db) return -1;
  if (options->isolation && db_set_isolation(db, options->isolation) != DB_OK) {
    snprintf(error, size, "%s", db_error(db));
    db_close(db);
    return -1;
  }
  set_db(thread, db);
  return 0;
}

int client_connect(struct client_thread *thread, char *error, size_t size) {
  const struct workload *workload = thread->run->options->workload;
  if (connect_with_isolation(thread, error, size) != 0) return -1;
  thread->has_own = true;
  if (!workload->begin_client || workload->begin_client(&thread->client) == 0) return 0;
  snprintf(error, size, "%s", db_error(thread->client.db));
  client_disconnect(thread);
  return -1;
}

void client_disconnect(struct client_thread *thread) {
  const struct workload *workload = thread->run->options->workload;
  struct db *db = thread->client.db;
  if (thread->has_own && workload->end_client) workload->end_client(&thread->client);
  thread->has_own = false;
  set_db(thread, NULL);
  db_close(db);
}

void client_interrupt(struct client_thread *thread) {
  pthread_mutex_lock(&thread->mutex);
  if (thread->client.db) db_interrupt(thread->client.db);
  pthread_mutex_unlock(&thread->mutex);
}

static int64_t end_ns(const struct client_thread *thread) {
  return atomic_load_explicit(&thread->run->end_ns, memory_order_relaxed);
}

/* false: the client has no connection and ends. */
static bool reconnect(struct client_thread *thread) {
  struct run *run = thread->run;
  char error[300] = "";
  const int64_t until_ns = now_ns() + reconnect_for_ns;
  if (atomic_load(&run->giving_up)) return false; /* it was main that ended it */
  count(&thread->lost, 1);
  client_disconnect(thread);
  while (now_ns() < end_ns(thread)) {
    if (client_connect(thread, error, sizeof error) == 0) return true;
    if (now_ns() >= until_ns) {
      run_cut_short(run, "the server is lost: %s", error);
      return false;
    }
    sleep_until_ns(now_ns() + reconnect_each_ns, &run->stop);
  }
  return false;
}

static void record(struct client_thread *thread, const struct latency_record *record) {
  if (record->intended_ns < thread->run->begin_ns) return; /* the warm-up's */
  count(&thread->counted_retries, record->tries ? record->tries - 1 : 0);
  latency_file_add(&thread->run->file, &thread->block, record);
}

void client_record_unbegun(struct client_thread *thread, size_t type, int64_t intended_ns) {
  record(
      thread,
      &(struct latency_record){
          .intended_ns = intended_ns, .end_ns = end_ns(thread), .type = (uint32_t)type, .outcome = OUTCOME_UNFINISHED});
}

static const char *error_text(enum db_result result, const struct db *db) {
  return result == DB_NO_ROW ? "a row that should be there is missing" : db_error(db);
}

static void note_failure(struct client_thread *thread, const struct transaction_type *type, enum db_result result) {
  if (atomic_load(&thread->run->giving_up)) return;
  run_note_error(thread->run, type->name, error_text(result, thread->client.db));
}

/* One try; afterwards no transaction is open. Returns DB_RETRY if it is worth another one. */
static enum db_result try_once(struct client_thread *thread, const struct transaction_type *type,
                               enum outcome *outcome) {
  struct client *client = &thread->client;
  *outcome = OUTCOME_COMMITTED;
  client->type = type->name;
  const enum db_result result = type->run(client, thread->arguments, outcome);
  if (result == DB_OK) return DB_OK;
  if (result != DB_RETRY) note_failure(thread, type, result);
  const bool lost = result == DB_LOST || db_rollback(client->db) == DB_LOST;
  *outcome = lost ? OUTCOME_UNFINISHED : result == DB_RETRY ? OUTCOME_GAVE_UP : OUTCOME_FAILED;
  return lost ? DB_LOST : result;
}

static enum db_result try_all(struct client_thread *thread, size_t type, struct latency_record *done) {
  const struct driver_options *options = thread->run->options;
  enum outcome outcome;
  enum db_result result;
  do {
    if (done->tries) count(&thread->retries, 1);
    done->tries++;
    result = try_once(thread, &options->workload->types[type], &outcome);
  } while (result == DB_RETRY && done->tries < options->tries);
  done->outcome = (uint16_t)outcome;
  return result;
}

static enum db_result perform(struct client_thread *thread, size_t type, int64_t intended_ns, int64_t start_ns) {
  struct latency_record done = {.intended_ns = intended_ns, .start_ns = start_ns, .type = (uint32_t)type};
  atomic_store_explicit(&thread->behind_ns, start_ns - intended_ns, memory_order_relaxed);
  const enum db_result result = try_all(thread, type, &done);
  done.end_ns = now_ns();
  count(&thread->finished, 1);
  if (done.outcome == OUTCOME_FAILED || done.outcome == OUTCOME_GAVE_UP) count(&thread->failed, 1);
  record(thread, &done);
  return result;
}

static int64_t next_intended_ns(struct client_thread *thread) {
  const struct driver_options *options = thread->run->options;
  if (options->rate > 0) return arrivals_take(&thread->run->arrivals);
  if (options->think_ms <= 0) return now_ns();
  return now_ns() + (int64_t)random_exponential(&thread->client.random, options->think_ms * NS_PER_MS);
}

/* Waits until it is due. false: it is not to begin, since the run ends before, or since it was due while this client
 * had others to do and the run has ended. What a client waited for begins, even if the client wakes a little after the
 * end.
 */
static bool wait_for_turn(struct client_thread *thread, size_t type, int64_t intended_ns) {
  if (intended_ns >= end_ns(thread)) return false;
  if (now_ns() >= end_ns(thread)) {
    if (thread->run->options->rate > 0) client_record_unbegun(thread, type, intended_ns);
    return false;
  }
  return sleep_until_ns(intended_ns, &thread->run->stop) && intended_ns < end_ns(thread);
}

/* The inputs are drawn before the intended start, which they would delay. */
static size_t choose(struct client_thread *thread) {
  const size_t type = mix_draw(&thread->run->mix, &thread->client.random);
  const struct transaction_type *chosen = &thread->run->options->workload->types[type];
  if (chosen->choose) chosen->choose(&thread->client, thread->arguments);
  return type;
}

static void run_client(struct client_thread *thread) {
  const bool open_loop = thread->run->options->rate > 0;
  for (;;) {
    const size_t type = choose(thread);
    const int64_t intended_ns = next_intended_ns(thread);
    if (!wait_for_turn(thread, type, intended_ns)) return;
    const int64_t start_ns = now_ns();
    const enum db_result result = perform(thread, type, open_loop ? intended_ns : start_ns, start_ns);
    if (result == DB_LOST && !reconnect(thread)) return;
  }
}

void *client_main(void *argument) {
  struct client_thread *thread = argument;
  clock_wake_precisely();
  pthread_barrier_wait(&thread->run->gate);
  if (sleep_until_ns(thread->run->first_ns, &thread->run->stop)) run_client(thread);
  latency_file_flush(&thread->run->file, &thread->block);
  atomic_fetch_sub(&thread->run->active, 1);
  return NULL;
}
