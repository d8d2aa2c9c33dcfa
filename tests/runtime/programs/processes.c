/* processes SCENARIO [N]: many processes that come and go in every way. Prints what the test must know. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes.h"
#include "vprof/vprof.h"

__attribute__((noinline)) static void inner(void) {
  TEST_ENTER(1);
  __asm__ volatile("");
  TEST_LEAVE(1);
}

/* Two records. */
__attribute__((noinline)) static void call(void) {
  TEST_ENTER(0);
  inner();
  TEST_LEAVE(0);
}

enum { kAtOnce = 20 };

static void end(int way) {
  if (way == 0) exit(0);
  if (way == 1) _exit(0);
  raise(way == 2 ? SIGSEGV : SIGKILL);
}

/* N children, at most kAtOnce at a time, that call once and end in turn by exit, _exit, a crash, and kill -9. */
static void fork_many(int n) {
  int running = 0;
  for (int i = 0; i < n; ++i) {
    if (running == kAtOnce) {
      wait(NULL);
      --running;
    }
    if (fork() == 0) {
      call();
      end(i % 4);
    }
    ++running;
  }
  while (wait(NULL) > 0) continue;
}

static void leave_at_once(int signal) {
  (void)signal;
  _exit(0);
}

/* Counts each call when it is over, in memory that outlives it. */
static void call_for_ever(atomic_long *calls) {
  signal(SIGTERM, leave_at_once);
  for (;;) {
    call();
    atomic_fetch_add(calls, 1);
    for (volatile int i = 0; i < 100; ++i) continue; /* about what a collector on a busy machine can follow */
  }
}

/* N children that are ended at random points of their calls: killed, crashed, or by _exit in a signal handler. For
 * each: `pid calls`, the calls that were over. */
static void end_many(int n) {
  static const int signals[] = {SIGKILL, SIGSEGV, SIGTERM};
  atomic_long *calls = mmap(NULL, sizeof *calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  setvbuf(stdout, NULL, _IOLBF, 0); /* an emulator says in between what crashed */
  for (int i = 0; i < n; ++i) {
    *calls = 0;
    const pid_t child = fork();
    if (child == 0) call_for_ever(calls);
    while (*calls == 0) usleep(50);
    usleep((useconds_t)(rand() % 2000));
    kill(child, signals[i % 3]);
    waitpid(child, NULL, 0);
    printf("%d %ld\n", (int)child, *calls);
  }
}

static void *call_in_thread(void *unused) {
  call();
  return unused;
}

/* As servers do after their start: other directory, mask, descriptors; with root's rights also other root and user.
 * Then calls in a thread, here, and in a child: 6 records. */
static void change_all(int unused) {
  (void)unused;
  pthread_t thread;
  close_range(3, ~0U, 0);
  umask(0777);
  if (chdir("/") != 0) exit(1);
  if (geteuid() == 0 && (chroot("/proc") != 0 || setgid(65534) != 0 || setuid(65534) != 0)) exit(1);
  pthread_create(&thread, NULL, call_in_thread, NULL);
  pthread_join(thread, NULL);
  call();
  if (fork() == 0) {
    call();
    _exit(0);
  }
  wait(NULL);
}

static const struct {
  const char *name;
  void (*run)(int n);
} scenarios[] = {{"fork", fork_many}, {"end", end_many}, {"change", change_all}};

int main(int argc, char **argv) {
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  for (size_t i = 0; argc >= 2 && i < sizeof scenarios / sizeof *scenarios; ++i)
    if (strcmp(argv[1], scenarios[i].name) == 0) {
      scenarios[i].run(argc > 2 ? atoi(argv[2]) : 0);
      return 0;
    }
  return 2;
}
