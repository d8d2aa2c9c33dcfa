/* lives SCENARIO: the ways in which threads and processes come and go. Prints what the test must know. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probes.h"
#include "vprof/vprof.h"

__attribute__((noinline)) static void innermost(void (*action)(void)) {
  TEST_ENTER(2);
  if (action) action();
  TEST_LEAVE(2);
}

__attribute__((noinline)) static void middle(void (*action)(void)) {
  TEST_ENTER(1);
  innermost(action);
  TEST_LEAVE(1);
}

__attribute__((noinline)) static void outermost(void (*action)(void)) {
  TEST_ENTER(0);
  middle(action);
  TEST_LEAVE(0);
}

static void say_and_hang(void) {
  puts("inside");
  fflush(stdout);
  for (;;) pause();
}

static void hang_inside(void) {
  outermost(say_and_hang);
}

static void fork_child(void) {
  outermost(NULL);
  const pid_t child = fork();
  if (child == 0) {
    outermost(NULL);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("%d %d\n", (int)getpid(), (int)child);
}

static void exec_calls(void) {
  vprof_on_behalf(1);
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
  if (n <= 5) _exit(1);
  strcpy(path + n - 5, "calls"); /* "lives" is as long */
  execl(path, path, "10", (char *)NULL);
}

static void quick_exit_inside(void) {
  _exit(0);
}

static void exit_inside(void) {
  outermost(NULL);
  outermost(quick_exit_inside);
}

static void *call_once(void *unused) {
  outermost(NULL);
  return unused;
}

static void churn(void) {
  for (int i = 0; i < 2000; ++i) {
    pthread_t t;
    if (pthread_create(&t, NULL, call_once, NULL) == 0) pthread_join(t, NULL);
  }
}

static jmp_buf landing;
static void jump(void) {
  longjmp(landing, 1);
}

static void jump_out(void) {
  if (setjmp(landing) == 0) outermost(jump);
  outermost(NULL);
}

static void exit_thread(void) {
  pthread_exit(NULL);
}

static void *end_inside(void *unused) {
  outermost(exit_thread);
  return unused;
}

static void thread_exit(void) {
  pthread_t t;
  pthread_create(&t, NULL, end_inside, NULL);
  pthread_join(t, NULL);
}

static volatile sig_atomic_t handled;

static void handle(int signal) {
  (void)signal;
  outermost(NULL);
  ++handled;
}

/* A timer signal interrupts probes everywhere, handled on the thread's stack or on an alternate one. */
static void signals_on(int flags) {
  static char stack[65536];
  const stack_t alt = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_handler = handle, .sa_flags = flags | SA_RESTART};
  const struct itimerspec period = {{0, 50000}, {0, 50000}};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
  timer_t timer;
  long calls = 0;
  sigaltstack(&alt, NULL);
  sigaction(SIGALRM, &action, NULL);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &period, NULL);
  for (; handled < 2000; ++calls) outermost(NULL);
  timer_delete(timer);
  printf("%ld\n", calls + handled);
}

static void signals(void) {
  signals_on(0);
}
static void signals_alternate(void) {
  signals_on(SA_ONSTACK);
}

/* Calls once for each character it is given, and says so: probes can be flipped meanwhile. */
static void call_until_eof(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  setvbuf(stdin, NULL, _IONBF, 0); /* the C library's own reads and writes leave no records */
  puts("running");
  while (getchar() != EOF) {
    outermost(NULL);
    puts("called");
  }
}

/* As a server would: every descriptor closed long before the library is loaded. */
static void load_library(void) {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 16);
  if (n <= 5) _exit(1);
  strcpy(path + n - 5, "libplugin.so");
  close_range(3, ~0U, 0);
  void (*call)(void) = NULL;
  void *library = dlopen(path, RTLD_NOW);
  if (library != NULL) *(void **)&call = dlsym(library, "plugin_call");
  if (call == NULL) _exit(1);
  puts("loaded");
  fflush(stdout);
  if (getchar() != EOF) call();
}

static void flood(void) {
  const long n = 2000000;
  for (long i = 0; i < n; ++i) {
    if (i % 1000 == 0) vprof_interval_begin((uint64_t)(i / 1000 + 1), "flood");
    outermost(NULL);
    if (i % 1000 == 999) vprof_interval_end((uint64_t)(i / 1000 + 1));
  }
  printf("%ld\n", 3 * n + 2 * (n / 1000));
}

static const struct {
  const char *name;
  void (*run)(void);
} scenarios[] = {{"hang", hang_inside},        {"fork", fork_child},     {"exec", exec_calls},
                 {"exit", exit_inside},        {"churn", churn},         {"longjmp", jump_out},
                 {"thread-exit", thread_exit}, {"signals", signals},     {"signals-alternate", signals_alternate},
                 {"flip", call_until_eof},     {"dlopen", load_library}, {"flood", flood}};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof scenarios / sizeof *scenarios; ++i)
    if (strcmp(argv[1], scenarios[i].name) == 0) {
      scenarios[i].run();
      return 0;
    }
  return 2;
}
