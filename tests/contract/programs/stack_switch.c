// Coroutines by instructions of their own: nobody can see the switch. `stack_switch FIBERS`; 0: only jumps that are
// none.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline))

enum { STACK = 65536, MOST = 8, REQUESTS = 200 };

// Keeps what a call keeps, and goes on where `to` was left.
__asm__(
    ".text\n.globl switch_to\n.type switch_to, @function\nswitch_to:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n");
void switch_to(void **from, void *to);

static void *scheduler, *coroutines[MOST];
static int running, finished;
static volatile unsigned long sum;

NOINLINE void work(long rounds) {
  for (long i = 0; i < rounds; i++) sum += (unsigned long)i;
}

NOINLINE void yield(void) {
  switch_to(&coroutines[running], scheduler);
}

NOINLINE void request(int number) {
  work(1000 + number % 7 * 3000);
  yield();
  work(1000);
}

static void serve(void) {
  for (int i = 0; i < REQUESTS; i++) request(i);
  finished++;
  for (;;) yield();
}

NOINLINE void schedule(int count) {
  while (finished < count)
    for (running = 0; running < count; running++) switch_to(&scheduler, coroutines[running]);
}

static void *coroutine(void) {
  char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  uint64_t *top = (uint64_t *)(stack + STACK) - 2;
  top[-1] = (uint64_t)serve;
  return top - 7;
}

// Jumps on the thread's own stack, and off the signal stack: nothing but longjmp.

static jmp_buf back;
static sigjmp_buf away;

NOINLINE void leaves(void) {
  longjmp(back, 1);
}

NOINLINE void raised(int number) {
  work(number);
  siglongjmp(away, 1);
}

NOINLINE void jumps(int number) {
  if (!setjmp(back)) leaves();
  if (!sigsetjmp(away, 1)) raise(SIGUSR1);
  work(1000 + number % 7 * 3000);
}

int main(int argc, char **argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 4;
  stack_t signal_stack = {.ss_sp = malloc(STACK), .ss_size = STACK};
  struct sigaction action = {.sa_handler = raised, .sa_flags = SA_ONSTACK};
  sigaltstack(&signal_stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  for (int i = 0; i < REQUESTS; i++) jumps(i);
  for (int i = 0; i < count; i++) coroutines[i] = coroutine();
  schedule(count);
  printf("%d %lu\n", finished, sum);
  return 0;
}
