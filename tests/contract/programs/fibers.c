// Fibers by ucontext: `fibers MODE`. What it prints is the same whoever records it, but for the line TRUTH.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { STACK = 65536, FIBERS = 4, REQUESTS = 300 };

struct fiber {
  ucontext_t context;
  sigjmp_buf point;
  int number, started, done;
  double began_ns, slow_ns;
};

static struct fiber fibers[FIBERS], *running;
static ucontext_t scheduler;
static sigjmp_buf scheduler_point;
static unsigned long sum;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

NOINLINE void spin(long rounds) {
  for (volatile long i = 0; i < rounds; i++) sum += (unsigned long)i;
}

static void *new_stack(size_t bytes) {
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void make(ucontext_t *context, void *stack, size_t bytes, void (*function)(void), ucontext_t *next) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = bytes;
  context->uc_link = next;
  makecontext(context, function, 0);
}

static void yield_by_swap(void) {
  swapcontext(&running->context, &scheduler);
}

// As QEMU's coroutines: contexts only to begin with.
static void yield_by_jump(void) {
  if (!sigsetjmp(running->point, 0)) siglongjmp(scheduler_point, 1);
}

static void (*yield)(void) = yield_by_swap;

// The truth: of the variance of latencies, the part of slow_sort.
static double latencies[FIBERS * REQUESTS], slow[FIBERS * REQUESTS];
static int finished;

NOINLINE void slow_sort(void) {
  const double began = now_ns();
  spin(400000);
  running->slow_ns += now_ns() - began;
}

NOINLINE void wait_for_io(void) {
  yield();
}

NOINLINE void request(int number) {
  spin(3000);
  wait_for_io();
  if (number % 9 == 4) slow_sort();
  spin(3000);
  wait_for_io();
}

static void serve(void) {
  struct fiber *self = running;
  for (int i = 0; i < REQUESTS; i++) {
    self->slow_ns = 0;
    self->began_ns = now_ns();
    request(self->number + i);
    latencies[finished] = now_ns() - self->began_ns;
    slow[finished++] = self->slow_ns;
  }
  self->done = 1;
  yield();
}

static void resume_by_swap(struct fiber *fiber) {
  swapcontext(&scheduler, &fiber->context);
}

static void resume_by_jump(struct fiber *fiber) {
  if (sigsetjmp(scheduler_point, 0)) return;
  if (fiber->started++) siglongjmp(fiber->point, 1);
  setcontext(&fiber->context);
}

NOINLINE void schedule(void (*resume)(struct fiber *)) {
  for (int left = FIBERS; left != 0;) {
    left = 0;
    for (int i = 0; i < FIBERS; i++) {
      running = &fibers[i];
      if (running->done) continue;
      left++;
      resume(running);
    }
  }
}

static void print_truth(void) {
  double mean = 0, mean_slow = 0, variance = 0, covariance = 0;
  for (int i = 0; i < finished; i++) mean += latencies[i] / finished, mean_slow += slow[i] / finished;
  for (int i = 0; i < finished; i++) {
    variance += (latencies[i] - mean) * (latencies[i] - mean);
    covariance += (latencies[i] - mean) * (slow[i] - mean_slow);
  }
  printf("TRUTH %.4f\n", covariance / variance);
}

static void requests(void) {
  for (int i = 0; i < FIBERS; i++) {
    fibers[i].number = i;
    make(&fibers[i].context, new_stack(STACK), STACK, serve, NULL);
  }
  schedule(yield == yield_by_jump ? resume_by_jump : resume_by_swap);
  printf("%d requests, %lu\n", finished, sum);
  print_truth();
}

// A generator ends by return, to uc_link; its stack serves the next one.

static ucontext_t generator, caller;
static long produced;

NOINLINE void produce(long value) {
  produced = value;
  swapcontext(&generator, &caller);
}

// Arguments in registers and on the stack.
NOINLINE void count_up(int from, int b, int c, int d, int e, int f, int g, int to) {
  for (int i = from; i < to; i++) produce(i + b + c + d + e + f + g);
  produced = -1;
}

NOINLINE void consume(void *stack) {
  getcontext(&generator);
  generator.uc_stack.ss_sp = stack;
  generator.uc_stack.ss_size = STACK;
  generator.uc_link = &caller;
  makecontext(&generator, (void (*)(void))count_up, 8, 10, 1, 1, 1, 1, 1, 1, 13);
  do {
    swapcontext(&caller, &generator);
    if (produced >= 0) printf("%ld ", produced);
  } while (produced >= 0);
}

static void generators(void) {
  void *stack = new_stack(STACK);
  for (int i = 0; i < 200; i++) consume(stack);
  printf("end\n");
}

// A context that was saved once is gone back to three times, while its function runs.

static ucontext_t saved, other;

static void come_back(void) {
  setcontext(&saved);
}

NOINLINE void once_more(int times) {
  printf("time %d\n", times);
  if (times < 3) setcontext(&saved);
}

NOINLINE void again(void) {
  static char stack[STACK];
  volatile int times = 0;
  make(&other, stack, STACK, come_back, NULL);
  swapcontext(&saved, &other);
  once_more(++times);
  spin(times);  // no tail call: the frame stays
}

// One thread begins a fiber, another one ends it.

static ucontext_t wanderer, threads[2];

NOINLINE void on_first(void) {
  spin(1000);
}
NOINLINE void on_second(void) {
  spin(1000);
}

NOINLINE void wander(void) {
  on_first();
  swapcontext(&wanderer, &threads[0]);
  on_second();
}

static void *go_on(void *unused) {
  swapcontext(&threads[1], &wanderer);
  return unused;
}

static void migrate(void) {
  pthread_t second;
  make(&wanderer, new_stack(STACK), STACK, wander, &threads[1]);
  swapcontext(&threads[0], &wanderer);
  pthread_create(&second, NULL, go_on, NULL);
  pthread_join(second, NULL);
  printf("%lu\n", sum);
}

// More fibers than there are slots.

static ucontext_t *crowd;
static int current, seen;

NOINLINE void one_of_many(void) {
  seen++;
  swapcontext(&crowd[current], &scheduler);
  seen++;
}

static void many(void) {
  enum { MANY = 6000, SMALL = 16384 };
  crowd = calloc(MANY, sizeof *crowd);
  for (int i = 0; i < MANY; i++) make(&crowd[i], new_stack(SMALL), SMALL, one_of_many, &scheduler);
  for (int round = 0; round < 2; round++)
    for (current = 0; current < MANY; current++) swapcontext(&scheduler, &crowd[current]);
  printf("%d\n", seen);
}

// A child, and the end of the process, from within a fiber.

NOINLINE void work_in_child(void) {
  spin(1000);
}

NOINLINE void fork_here(void) {
  const pid_t child = fork();
  if (child == 0) {
    work_in_child();
    swapcontext(&wanderer, &scheduler);
    _exit(4);
  }
  int status;
  waitpid(child, &status, 0);
  printf("child %d\n", WEXITSTATUS(status));
  fflush(stdout);
  exit(0);
}

static void forks(void) {
  const pid_t parent = getpid();
  make(&wanderer, new_stack(STACK), STACK, fork_here, NULL);
  swapcontext(&scheduler, &wanderer);
  if (getpid() != parent) {
    spin(1000);
    setcontext(&wanderer);
  }
}

// A thread ends within a fiber.

static void leave_thread(void) {
  pthread_exit(NULL);
}

static void *end_in_fiber(void *unused) {
  spin(10);
  make(&wanderer, new_stack(STACK * 4), STACK * 4, leave_thread, NULL);
  swapcontext(&scheduler, &wanderer);
  return unused;
}

static void exits(void) {
  pthread_t thread;
  for (int i = 0; i < 3; i++) {
    pthread_create(&thread, NULL, end_in_fiber, NULL);
    pthread_join(thread, NULL);
  }
  spin(10);
  printf("%lu\n", sum);
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  if (!strcmp(mode, "requests")) requests();
  if (!strcmp(mode, "jumps")) yield = yield_by_jump, requests();
  if (!strcmp(mode, "generators")) generators();
  if (!strcmp(mode, "again")) again();
  if (!strcmp(mode, "migrate")) migrate();
  if (!strcmp(mode, "many")) many();
  if (!strcmp(mode, "forks")) forks();
  if (!strcmp(mode, "exits")) exits();
  return 0;
}
