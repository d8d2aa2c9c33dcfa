/* Ways that calls end, and threads that wait for one another, for a recording that counts them. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { JUMPS = 100, DEPTH = 5, THREADS = 3, TURNS = 20, SWITCHES = 10 };

static jmp_buf out;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ucontext_t here, there;
static double sum;

void descend(int depth) {
  if (depth == 0) longjmp(out, 1);
  descend(depth - 1);
}

int try_once(void) {
  if (setjmp(out) != 0) return 1;
  descend(DEPTH);
  return 0;
}

/* Its arguments and result are in registers of all kinds, also on the stack. */
double many(int a, double b, long c, float d, short e, double f, int g, int h, int i, int j, int k, int l) {
  return a + b + (double)c + d + e + f + g + h + i + j + k + l;
}

void hold_lock(void) {
  pthread_mutex_lock(&mutex);
  sum += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  usleep(1000);
  pthread_mutex_unlock(&mutex);
}

void *work(void *unused) {
  for (int i = 0; i < TURNS; ++i) hold_lock();
  return unused;
}

void step(int number) {
  sum += number;
}

void other_flow(int first, int second) {
  for (int i = 0; i < SWITCHES; ++i) {
    step(first + second);
    swapcontext(&there, &here);
  }
}

void switch_flows(void) {
  static char stack[1 << 16];
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  there.uc_link = &here;
  makecontext(&there, (void (*)(void))other_flow, 2, 3, 4);
  for (int i = 0; i <= SWITCHES; ++i) swapcontext(&here, &there);
}

int main(void) {
  int caught = 0;
  for (int i = 0; i < JUMPS; ++i) caught += try_once();
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
  switch_flows();
  const pid_t child = vfork();
  if (child == 0) _exit(7);
  int status = 0;
  waitpid(child, &status, 0);
  printf("%d %.0f %d\n", caught, sum, WEXITSTATUS(status));
  return 0;
}
