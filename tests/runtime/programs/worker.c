/* worker KIND: a server with rights and its worker without: the child becomes `nobody` and writes hostile values over
 * the session's memory, which it has inherited, while the parent goes on with all that it may do. Prints what the
 * parent has done, which depends on nothing else, and says on the error output what went wrong. Driven by
 * bench/faults.py. KIND:
 *
 * - words: each word of the parent's slot in turn is the way to the parent's own memory, those around it small or large
 * - header: the arena's header, all words one value
 * - tables: everything between the header and the slots, likewise
 * - slots: everything of all slots but who owns them, likewise
 * - random: any byte
 * - held: every lock word and every free slot belongs to process 1 for ever */
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes.h"
#include "vprof/vprof.h"

enum { PAGE = 4096, NOBODY = 65534, PRIVATE_WORDS = 1 << 18, ROUNDS = 240, CHILDREN = 2 };
static const uint64_t kPattern = 0x5a5a1234abcd5a5a;

static char directory[PATH_MAX]; /* of this program */
static uint64_t *secret;         /* PRIVATE_WORDS of the parent's, each kPattern */
static unsigned char *arena, *arena_end;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void find_arena(void) {
  char line[4096];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, to;
    if (strstr(line, "/arena") == NULL || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
    arena = (unsigned char *)from;
    arena_end = (unsigned char *)to;
  }
  if (maps != NULL) fclose(maps);
}

/* The next slot of a live thread of `pid` from `p` on, or null: it starts on a page with pid << 8 | 2. */
static uint64_t *next_slot(unsigned char *p, pid_t pid) {
  for (; p < arena_end; p += PAGE)
    if (*(uint64_t *)p == ((uint64_t)pid << 8 | 2)) return (uint64_t *)p;
  return NULL;
}

static unsigned char *first_slot(pid_t pid) {
  uint64_t *slot = next_slot(arena, pid);
  return slot != NULL ? (unsigned char *)slot : arena_end;
}

/* --- what the parent does ------------------------------------------------------------------------------------- */

__attribute__((noinline)) static int call(int deeper) {
  TEST_ENTER(0);
  const int calls = deeper > 0 ? 1 + call(deeper - 1) : 1;
  TEST_LEAVE(0);
  return calls;
}

struct done {
  long calls, children, plugins;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void *contend(void *calls) {
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 50; ++i) {
    pthread_mutex_lock(&mutex);
    *(long *)calls += call(1);
    vprof_wait_begin(7);
    vprof_wait_end(7);
    vprof_wake(7);
    vprof_wake_done(7);
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

static void run_threads(long *calls) {
  pthread_t threads[2];
  pthread_barrier_init(&barrier, NULL, 2);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, contend, calls);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pthread_barrier_destroy(&barrier);
}

/* Every other one runs this program anew, which joins the session as it is now. */
static void run_children(struct done *done) {
  for (int i = 0; i < CHILDREN; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      char path[PATH_MAX + 16];
      snprintf(path, sizeof path, "%s/worker", directory);
      if (call(3) == 4 && i % 2 == 0) execl(path, path, "join", (char *)NULL);
      _exit(i % 2 == 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    if (status == 0)
      ++done->children;
    else
      fprintf(stderr, "a child ended with %x\n", (unsigned)status);
  }
}

static void load_plugin(struct done *done) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/libplugin.so", directory);
  void *library = dlopen(path, RTLD_NOW);
  void (*plugin)(void) = NULL;
  if (library != NULL) *(void **)&plugin = dlsym(library, "plugin_call");
  if (plugin == NULL) {
    fprintf(stderr, "no plugin: %s\n", dlerror());
    return;
  }
  plugin();
  dlclose(library);
  ++done->plugins;
}

static void work(int round, struct done *done) {
  char type[32];
  snprintf(type, sizeof type, "type %d", round);
  vprof_interval_begin((uint64_t)round + 1, type);
  done->calls += call(10);
  if (round % 10 == 0) done->calls += call(1100); /* deeper than what is recorded */
  run_threads(&done->calls);
  if (round % 60 == 0) run_children(done);
  if (round % 20 == 0) load_plugin(done);
  vprof_interval_end((uint64_t)round + 1);
}

static long changed_words(void) {
  long n = 0;
  for (int i = 0; i < PRIVATE_WORDS; ++i) n += secret[i] != kPattern;
  return n;
}

/* --- what the worker does ------------------------------------------------------------------------------------- */

static const uint64_t values[] = {0,
                                  1,
                                  2,
                                  1023,
                                  1025,
                                  2000,
                                  0x80000000,
                                  0xffffffff,
                                  (uint64_t)2000 << 32 | 2000,
                                  UINT64_MAX / 2,
                                  UINT64_MAX,
                                  0x4141414141414141,
                                  0xffffffff00001000};
enum { VALUES = sizeof values / sizeof *values };

/* One step for each byte that arrives, answered by one. */
static void overwrite_words(pid_t parent, int in, int out) {
  enum { LAST = 32 };
  uint64_t *slot = (uint64_t *)first_slot(parent);
  char byte;
  for (int word = 1; word <= LAST; ++word)
    for (int around = 0; around < VALUES; ++around) {
      if (read(in, &byte, 1) != 1) _exit(0);
      for (int i = 1; i <= LAST; ++i) slot[i] = values[around];
      slot[word] = (uint64_t)((char *)&secret[PRIVATE_WORDS / 2] - (char *)&slot[8]);
      if (write(out, &byte, 1) != 1) _exit(0);
    }
  close(out);
}

static void fill(unsigned char *from, unsigned char *to, uint64_t value) {
  for (volatile uint64_t *p = (volatile uint64_t *)from; (unsigned char *)p < to; ++p) *p = value;
}

static void fill_slots(unsigned char *first, uint64_t value) {
  for (unsigned char *page = first; page < arena_end; page += PAGE) {
    const uint64_t owner = *(uint64_t *)page;
    fill(page + (owner != 0 && owner >> 32 == 0 && (owner & 0xff) <= 3 ? 8 : 0), page + PAGE, value);
  }
}

/* The words that are or may become a lock or an owner: the small numbers of the header, the first of free slots. */
static void hold_everything(unsigned char *first) {
  for (volatile uint32_t *p = (volatile uint32_t *)(arena + 128); p < (volatile uint32_t *)(arena + 192); ++p)
    if (*p == 0) *p = 1;
  for (unsigned char *page = first; page < arena_end; page += PAGE) {
    uint64_t none = 0;
    __atomic_compare_exchange_n((uint64_t *)page, &none, 1 << 8 | 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

static void overwrite(const char *kind, pid_t parent) {
  unsigned char *const tables = arena + PAGE, *const slots = first_slot(parent);
  srandom((unsigned)getpid());
  for (unsigned i = 0;; ++i) {
    const uint64_t value = values[i % VALUES];
    if (getppid() != parent) _exit(0);
    if (strcmp(kind, "header") == 0) fill(arena + 16, tables, value);
    if (strcmp(kind, "tables") == 0) fill(tables, slots, value);
    if (strcmp(kind, "slots") == 0) fill_slots(slots, value);
    if (strcmp(kind, "held") == 0) hold_everything(slots);
    if (strcmp(kind, "random") == 0)
      for (int k = 0; k < 10000; ++k)
        arena[((size_t)random() << 20 ^ (size_t)random()) % (size_t)(arena_end - arena)] ^= (unsigned char)random();
  }
}

/* --- both ----------------------------------------------------------------------------------------------------- */

static long step_by_step(int to_worker, int from_worker) {
  long calls = 0;
  char byte = 0;
  while (write(to_worker, &byte, 1) == 1 && read(from_worker, &byte, 1) == 1) calls += call(2) - 3;
  return calls;
}

static pid_t start_worker(const char *kind, int in, int out) {
  const pid_t parent = getpid(), child = fork();
  if (child != 0) return child;
  if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) _exit(9);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  if (arena == NULL) _exit(0); /* not recorded: there is nothing to write to */
  if (strcmp(kind, "words") == 0)
    overwrite_words(parent, in, out);
  else
    overwrite(kind, parent);
  _exit(0);
}

int main(int argc, char **argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_IGN);
  const ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
  if (length > 0) *strrchr(directory, '/') = '\0';
  if (argc != 2) return 2;
  if (strcmp(argv[1], "join") == 0) return call(3) == 4 ? 0 : 1;
  secret = mmap(NULL, PRIVATE_WORDS * sizeof *secret, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < PRIVATE_WORDS; ++i) secret[i] = kPattern;
  find_arena();
  int to_worker[2], from_worker[2];
  if (pipe(to_worker) != 0 || pipe(from_worker) != 0) return 2;
  struct done done = {call(10), 0, 0};
  const pid_t worker = start_worker(argv[1], to_worker[0], from_worker[1]);
  close(to_worker[0]);
  close(from_worker[1]);
  const double began = now_s();
  if (strcmp(argv[1], "words") == 0)
    done.calls += step_by_step(to_worker[1], from_worker[0]);
  else
    for (int round = 0; round < ROUNDS; ++round) work(round, &done);
  kill(worker, SIGKILL);
  waitpid(worker, NULL, 0);
  if (changed_words() != 0) fprintf(stderr, "%ld words of the parent's memory have changed\n", changed_words());
  fprintf(stderr, "took %.1f s\n", now_s() - began);
  printf("calls %ld, children %ld, plugins %ld\n", done.calls, done.children, done.plugins);
  return changed_words() != 0;
}
