/* faults SCENARIO [N]: what a server may do to itself, driven by bench/faults.py. The last line of the output is the
 * number of probed calls that were over: `records N`. */
#include <dlfcn.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probes.h"

extern char **environ;

/* Shared by all processes of the program. */
static atomic_long *records;
static char directory[PATH_MAX]; /* of this program */

__attribute__((noinline)) static void inner(void) {
  TEST_ENTER(1);
  __asm__ volatile("");
  TEST_LEAVE(1);
}

/* Two records. */
__attribute__((noinline)) static void call(void) {
  {
    TEST_ENTER(0);
    inner();
    TEST_LEAVE(0);
  }
  atomic_fetch_add(records, 2);
}

/* Before main, with all probes on already. */
__attribute__((constructor)) static void before_main(void) {
  records = mmap(NULL, sizeof *records, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  call();
}

static void say_records(void) {
  call(); /* in an atexit handler */
  printf("records %ld\n", *records);
  fflush(stdout);
}

static char *path_of(const char *name) {
  static char path[2 * PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  return path;
}

static void reap(pid_t child) {
  waitpid(child, NULL, 0);
}

static void fork_and_exec(long n) {
  for (long i = 0; i < n; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      call();
      if (i % 2 == 1) execl("/bin/true", "true", (char *)NULL);
      _exit(0);
    }
    reap(child);
    call();
  }
}

/* The child shares its parent's memory, and thread, until it calls exec. */
static void vfork_and_exec(long n) {
  for (long i = 0; i < n; ++i) {
    const pid_t child = vfork();
    if (child == 0) {
      inner();
      atomic_fetch_add(records, 1);
      execl("/bin/true", "true", (char *)NULL);
      _exit(1);
    }
    reap(child);
    call();
  }
}

static void start_helpers(long n) {
  for (long i = 0; i < n; ++i) {
    char *const words[] = {"true", NULL};
    pid_t child;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, words, environ) == 0) reap(child);
    call();
    if (system("true") != 0) exit(1);
    call();
    FILE *pipe = popen("echo", "r");
    if (pipe == NULL || fgetc(pipe) != '\n' || pclose(pipe) != 0) exit(1);
    call();
  }
}

/* A child that goes on as a program without probes. */
static void leave_daemons(long n) {
  for (long i = 0; i < n; ++i)
    if (fork() == 0) {
      call();
      execl("/bin/sleep", "sleep", "20", (char *)NULL);
      _exit(1);
    }
  for (int tries = 0; tries < 100; ++tries) usleep(5000); /* they run; the collector looks */
  pid_t later[8];
  for (int i = 0; i < 8; ++i)
    if ((later[i] = fork()) == 0) {
      call();
      _exit(0);
    }
  for (int i = 0; i < 8; ++i) reap(later[i]);
  signal(SIGTERM, SIG_IGN);
  kill(0, SIGTERM);
  while (wait(NULL) > 0) continue;
}

static pthread_key_t last_words;

static void call_at_the_end(void *unused) {
  (void)unused;
  call();
}

static void *call_twice(void *unused) {
  pthread_setspecific(last_words, &last_words);
  call();
  return unused;
}

static void make_threads(long n, long at_once) {
  pthread_t *threads = calloc((size_t)at_once, sizeof *threads);
  for (long made = 0; made < n; made += at_once) {
    for (long i = 0; i < at_once; ++i)
      if (pthread_create(&threads[i], NULL, call_twice, NULL) != 0) exit(1);
    for (long i = 0; i < at_once; ++i) pthread_join(threads[i], NULL);
  }
}

static void threads_one_by_one(long n) {
  make_threads(n, 1);
}

static void threads_in_waves(long n) {
  make_threads(n, 50);
}

static pthread_barrier_t all_live;

static void *call_and_stay(void *unused) {
  call();
  pthread_barrier_wait(&all_live);
  return unused;
}

/* All at one time. */
static void threads_live(long n) {
  pthread_attr_t small;
  pthread_t *threads = calloc((size_t)n, sizeof *threads);
  long made = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  pthread_barrier_init(&all_live, NULL, (unsigned)n + 1);
  for (; made < n; ++made)
    if (pthread_create(&threads[made], &small, call_and_stay, NULL) != 0) break;
  printf("live %ld\n", made);
  if (made < n) {
    fflush(stdout);
    _exit(3);
  }
  pthread_barrier_wait(&all_live);
  for (long i = 0; i < n; ++i) pthread_join(threads[i], NULL);
}

static void *exit_inside(void *unused) {
  TEST_ENTER(0);
  atomic_fetch_add(records, 1);
  pthread_exit(unused);
}

static void *wait_inside(void *unused) {
  TEST_ENTER(0);
  atomic_fetch_add(records, 1);
  for (;;) pause();
  return unused;
}

/* Threads that end inside a probed call: one record each, of a call that was abandoned. */
static void ends_of_threads(long n) {
  for (long i = 0; i < n; ++i) {
    pthread_t exiting, cancelled;
    const long before = *records;
    pthread_create(&exiting, NULL, exit_inside, NULL);
    pthread_create(&cancelled, NULL, wait_inside, NULL);
    while (*records != before + 2) usleep(100);
    pthread_cancel(cancelled);
    pthread_join(exiting, NULL);
    pthread_join(cancelled, NULL);
  }
}

static void *go_on(void *unused) {
  usleep(200000); /* longer than the collector takes to look at a process whose first thread is gone */
  for (int i = 0; i < 1000; ++i) call();
  exit(0);
  return unused;
}

static void main_thread_ends(long n) {
  pthread_t thread;
  (void)n;
  pthread_create(&thread, NULL, go_on, NULL);
  call();
  pthread_exit(NULL);
}

/* The same library again and again. */
static void load_and_unload(long n) {
  for (long i = 0; i < n; ++i) {
    void *library = dlopen(path_of("libplugin.so"), RTLD_NOW);
    void (*plugin)(void) = NULL;
    if (library != NULL) *(void **)&plugin = dlsym(library, "plugin_call");
    if (plugin == NULL) exit(1);
    plugin();
    atomic_fetch_add(records, 1);
    dlclose(library);
    call();
  }
}

static void call_often(long n) {
  for (long i = 0; i < n; ++i) call();
}

/* Until its input ends, about as fast as a collector on a busy machine follows. */
static void serve(long pause_in_loops) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  puts("serving");
  fflush(stdout);
  while (poll(&input, 1, 0) == 0)
    for (int i = 0; i < 1000; ++i) {
      call();
      for (volatile long k = 0; k < pause_in_loops; ++k) continue;
    }
}

static void abort_at_last(long n) {
  call_often(n);
  say_records();
  abort();
}

/* Writes N random bytes over the session's memory while it calls. */
static void scribble(long n) {
  char line[4096];
  unsigned char *arena = NULL;
  size_t size = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    unsigned long from, to;
    if (strstr(line, "/arena") != NULL && sscanf(line, "%lx-%lx", &from, &to) == 2) {
      arena = (unsigned char *)from;
      size = to - from;
    }
  }
  if (arena == NULL) exit(1);
  srandom((unsigned)getpid());
  const pid_t child = fork(); /* it may die of what it writes over */
  if (child == 0) {
    for (long i = 0; i < n; ++i) {
      const size_t head = i % 2 == 0 ? size : 1 << 19; /* every other one into the tables and the header */
      arena[((size_t)random() << 20 ^ (size_t)random()) % head] ^= (unsigned char)random();
      if (i % 16 == 0) call();
    }
    _exit(0);
  }
  reap(child);
}

static const struct {
  const char *name;
  void (*run)(long n);
} scenarios[] = {{"fork", fork_and_exec},    {"vfork", vfork_and_exec},       {"helpers", start_helpers},
                 {"daemons", leave_daemons}, {"threads", threads_one_by_one}, {"waves", threads_in_waves},
                 {"live", threads_live},     {"ends", ends_of_threads},       {"main-ends", main_thread_ends},
                 {"load", load_and_unload},  {"calls", call_often},           {"serve", serve},
                 {"abort", abort_at_last},   {"scribble", scribble}};

int main(int argc, char **argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  const ssize_t length = readlink("/proc/self/exe", directory, sizeof directory - 1);
  if (length > 0) *strrchr(directory, '/') = '\0';
  pthread_key_create(&last_words, call_at_the_end);
  for (size_t i = 0; argc >= 2 && i < sizeof scenarios / sizeof *scenarios; ++i)
    if (strcmp(argv[1], scenarios[i].name) == 0) {
      atexit(say_records);
      scenarios[i].run(argc > 2 ? atol(argv[2]) : 1);
      return 0;
    }
  return 2;
}
