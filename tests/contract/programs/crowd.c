// PROCESSES processes with THREADS threads each call again and again for as long as FILE exists.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int *go_on;
static int threads;

__attribute__((noinline)) void inner(int turns) {
  for (volatile int i = 0; i < turns; i++) continue;
}

__attribute__((noinline)) void outer(int turns) {
  inner(turns);
  inner(turns / 2);
}

static void *call(void *unused) {
  while (atomic_load(go_on)) {
    outer(4000);
    usleep(300);
  }
  return unused;
}

static void one_process(void) {
  pthread_t thread[64];
  for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, call, NULL);
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
  exit(0);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  go_on = mmap(NULL, sizeof *go_on, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  *go_on = 1;
  threads = atoi(argv[3]);
  for (int i = 0; i < atoi(argv[2]); i++)
    if (fork() == 0) one_process();
  /* A test that failed before it took the file away leaves nothing running. */
  for (int i = 0; access(argv[1], F_OK) == 0 && i < 6000; i++) usleep(10000);
  *go_on = 0;
  while (wait(NULL) > 0) continue;
  return 0;
}
