// As many threads at one time as the limit of address space lets it have, up to the number given; each does its part.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STACK = 128 << 10, MOST = 4096 };

static pthread_barrier_t all_there;

__attribute__((noinline)) static long work(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; ++i) sum = sum + i;
  return sum;
}

static void *run(void *n) {
  pthread_barrier_wait(&all_there);
  return (void *)work((long)n);
}

int main(int count, char **words) {
  static pthread_t threads[MOST];
  const int wanted = count > 1 ? atoi(words[1]) : 10;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, STACK);
  pthread_barrier_init(&all_there, NULL, (unsigned)wanted + 1);
  for (long i = 0; i < wanted; ++i)
    if (pthread_create(&threads[i], &attributes, run, (void *)i) != 0) {
      printf("no more than some threads\n");
      return 1;
    }
  pthread_barrier_wait(&all_there);
  long sum = 0;
  for (int i = 0; i < wanted; ++i) {
    void *result;
    pthread_join(threads[i], &result);
    sum += (long)result;
  }
  printf("%d threads: %ld\n", wanted, sum);
  return 0;
}
