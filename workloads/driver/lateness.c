#include "lateness.h"

#include <errno.h>
#include <stdlib.h>

#include "clock.h"

enum { TICK_NS = 1000000 };

/* A full block waits for lateness_write in exchange for an empty one; if there is none, it is written here. */
static void add(struct lateness *lateness, const struct latency_record *record) {
  struct latency_block *block = lateness->filling;
  block->records[block->count++] = *record;
  if (block->count < RECORDS_PER_BLOCK) return;
  pthread_mutex_lock(&lateness->mutex);
  struct latency_block *other = lateness->other;
  if (other && other->count == 0) {
    lateness->other = block;
    lateness->filling = other;
  }
  pthread_mutex_unlock(&lateness->mutex);
  if (lateness->filling == block) latency_file_flush(lateness->file, block);
}

static void *tick(void *argument) {
  struct lateness *lateness = argument;
  clock_wake_precisely();
  int64_t intended_ns = lateness->begin_ns;
  for (; intended_ns < atomic_load(lateness->end_ns); intended_ns += TICK_NS) {
    if (!sleep_until_ns(intended_ns, lateness->stop)) break;
    const int64_t woken_ns = now_ns();
    add(lateness,
        &(struct latency_record){
            .intended_ns = intended_ns, .start_ns = woken_ns, .end_ns = woken_ns, .type = lateness->type, .tries = 1});
  }
  return NULL;
}

int lateness_start(struct lateness *lateness, struct latency_file *file, uint32_t type, int64_t begin_ns,
                   const _Atomic int64_t *end_ns, const atomic_bool *stop) {
  *lateness = (struct lateness){.mutex = PTHREAD_MUTEX_INITIALIZER,
                                .filling = calloc(1, sizeof *lateness->filling),
                                .other = calloc(1, sizeof *lateness->other),
                                .file = file,
                                .type = type,
                                .begin_ns = begin_ns,
                                .end_ns = end_ns,
                                .stop = stop};
  if (!lateness->filling || !lateness->other) return ENOMEM;
  return pthread_create(&lateness->thread, NULL, tick, lateness);
}

/* Without the mutex while it writes: meanwhile there is no other block. */
void lateness_write(struct lateness *lateness) {
  pthread_mutex_lock(&lateness->mutex);
  struct latency_block *block = lateness->other;
  lateness->other = NULL;
  pthread_mutex_unlock(&lateness->mutex);
  latency_file_flush(lateness->file, block);
  pthread_mutex_lock(&lateness->mutex);
  lateness->other = block;
  pthread_mutex_unlock(&lateness->mutex);
}

void lateness_join(struct lateness *lateness) {
  pthread_join(lateness->thread, NULL);
  latency_file_flush(lateness->file, lateness->other);
  latency_file_flush(lateness->file, lateness->filling);
  free(lateness->other);
  free(lateness->filling);
}
