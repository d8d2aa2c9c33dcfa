/* Runs minidb's buffer pool step by step, in threads of their own.
 *
 *     pool_steps PAGES strict|lazy < steps
 *
 *     hold, free       this thread takes the LRU list's mutex, and gives it back     (prints nothing)
 *     fetch T PAGE     thread T fetches a page                                       done | waits
 *     await T          until that is done                                            done
 *     backlog T        what T has put off                                            its pages
 *     cpu T            processor time of T's last fetch, whole us                    a number
 *     end T            T touches what it has put off, and ends                       (prints nothing)
 *     storm N COUNT    N threads fetch COUNT pages each, and end                     (prints nothing)
 *     list             the resident pages, hottest first; "broken" if the list, the frames and the table of resident
 *                      pages do not agree
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "buffer_pool.h"
#include "lru_backlog.h"
#include "memory.h"
#include "rng.h"
#include "thread.h"

enum { ACTORS = 8, STORM = 16 };

struct actor {
  pthread_t thread;
  atomic_int tid;
  pthread_mutex_t mutex;
  pthread_cond_t told;
  char step; /* 0: none */
  size_t page;
  long cpu_us;
  struct lru_backlog backlog; /* a copy */
  atomic_bool done;
  bool started;
};

static struct buffer_pool pool;
static size_t page_count;
static bool held;
static struct actor actors[ACTORS];

static long thread_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void fetch(struct actor *actor) {
  unsigned sweeps = 1;
  long begin = thread_cpu_ns();
  page_fetch(&pool, actor->page, &sweeps);
  actor->cpu_us = (thread_cpu_ns() - begin) / 1000;
}

static char next_step(struct actor *actor) {
  pthread_mutex_lock(&actor->mutex);
  while (!actor->step) pthread_cond_wait(&actor->told, &actor->mutex);
  char step = actor->step;
  actor->step = 0;
  pthread_mutex_unlock(&actor->mutex);
  return step;
}

static void *act(void *argument) {
  struct actor *actor = argument;
  atomic_store(&actor->tid, (int)syscall(SYS_gettid));
  for (char step = 0; step != 'e';) {
    step = next_step(actor);
    if (step == 'f') fetch(actor);
    if (step == 'e') buffer_pool_thread_end(&pool);
    actor->backlog = *lru_backlog_mine();
    atomic_store(&actor->done, true);
  }
  return NULL;
}

static void tell(struct actor *actor, char step, size_t page) {
  if (!actor->started) {
    pthread_mutex_init(&actor->mutex, NULL);
    pthread_cond_init(&actor->told, NULL);
    actor->started = true;
    actor->thread = thread_start(act, actor);
  }
  pthread_mutex_lock(&actor->mutex);
  actor->page = page;
  atomic_store(&actor->done, false);
  actor->step = step;
  pthread_cond_signal(&actor->told);
  pthread_mutex_unlock(&actor->mutex);
}

/* Whether the thread sleeps in the kernel for the LRU list's mutex. */
static bool waits_for_list(struct actor *actor) {
  char name[80], text[200] = "";
  snprintf(name, sizeof name, "/proc/self/task/%d/syscall", atomic_load(&actor->tid));
  FILE *file = fopen(name, "r");
  if (!file) return false;
  bool read = fgets(text, sizeof text, file);
  fclose(file);
  long number;
  void *word;
  return read && sscanf(text, "%ld %p", &number, &word) == 2 && number == SYS_futex && word == &pool.lru_mutex;
}

static void await(struct actor *actor, bool may_wait) {
  while (!atomic_load(&actor->done)) {
    if (may_wait && waits_for_list(actor)) {
      puts("waits");
      return;
    }
    sched_yield();
  }
  puts("done");
}

static void end(struct actor *actor) {
  tell(actor, 'e', 0);
  pthread_join(actor->thread, NULL);
  actor->started = false;
}

static void print_backlog(const struct actor *actor) {
  for (size_t i = 0; i < actor->backlog.count; i++) printf("%s%zu", i ? " " : "", actor->backlog.pages[i]);
  puts("");
}

static void *storm_main(void *argument) {
  struct actor *actor = argument;
  struct rng rng = rng_make(1, actor->page);
  size_t fetches = (size_t)actor->cpu_us;
  for (size_t i = 0; i < fetches; i++) {
    unsigned sweeps = 1;
    page_fetch(&pool, rng_between(&rng, 0, (unsigned)page_count - 1), &sweeps);
  }
  buffer_pool_thread_end(&pool);
  return NULL;
}

static void storm(size_t threads, long fetches) {
  static struct actor stormy[STORM];
  for (size_t i = 0; i < threads; i++) {
    stormy[i] = (struct actor){.page = i, .cpu_us = fetches};
    stormy[i].thread = thread_start(storm_main, &stormy[i]);
  }
  for (size_t i = 0; i < threads; i++) pthread_join(stormy[i].thread, NULL);
}

static bool is_whole(void) {
  size_t frames = 0, resident = 0;
  struct frame *last = NULL;
  for (struct frame *frame = pool.hottest; frame; last = frame, frame = frame->colder) {
    if (frame->hotter != last || pool.resident[frame->page] != frame || ++frames > pool.frame_count) return false;
  }
  for (size_t page = 0; page < page_count; page++) resident += pool.resident[page] != NULL;
  return last == pool.coldest && frames == pool.frame_count && resident == frames;
}

static void list(void) {
  if (!held) pthread_mutex_lock(&pool.lru_mutex);
  printf("%s", is_whole() ? "" : "broken ");
  for (struct frame *frame = pool.hottest; frame; frame = frame->colder) {
    printf("%zu%s", frame->page, frame->colder ? " " : "\n");
  }
  if (!held) pthread_mutex_unlock(&pool.lru_mutex);
}

static void hold(bool take) {
  if (take) pthread_mutex_lock(&pool.lru_mutex);
  if (!take) pthread_mutex_unlock(&pool.lru_mutex);
  held = take;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  page_count = strtoull(argv[1], NULL, 10);
  buffer_pool_init(&pool, page_count, strcmp(argv[2], "lazy") == 0);
  char line[80], step[20];
  size_t number, page;
  while (fgets(line, sizeof line, stdin)) {
    int words = sscanf(line, "%19s %zu %zu", step, &number, &page);
    if (words > 1 && number >= (strcmp(step, "storm") ? ACTORS : STORM + 1)) return 2;
    if (strcmp(step, "hold") == 0 || strcmp(step, "free") == 0) hold(*step == 'h');
    if (strcmp(step, "fetch") == 0) tell(&actors[number], 'f', page), await(&actors[number], held);
    if (strcmp(step, "await") == 0) await(&actors[number], false);
    if (strcmp(step, "backlog") == 0) print_backlog(&actors[number]);
    if (strcmp(step, "cpu") == 0) printf("%ld\n", actors[number].cpu_us);
    if (strcmp(step, "end") == 0) end(&actors[number]);
    if (strcmp(step, "storm") == 0) storm(number, (long)page);
    if (strcmp(step, "list") == 0) list();
  }
  buffer_pool_destroy(&pool);
  return 0;
}
