// Task hand-over: `return` is the returned value; nothing is dequeued when it is 0. At an entry, before anybody works for it.
#include <stdio.h>

#define NONE 0

struct job {
  int number;
};
static struct job *slot;

static void push(struct job *job) { slot = job; }

static struct job *pop(int take) {
  struct job *job = slot;
  if (!take) return NONE;
  if (!job)
    return puts("empty"), (struct job *)0;
  slot = 0;
  return job;
}

static unsigned pop_number(void) {
  return 42;
}

static void serve(int number) { printf("serving %d\n", number); }

int main(void) {
  struct job job = {3};
  push(&job);
  pop(0);
  printf("%d\n", pop(1)->number);
  pop(1);
  serve(3);
  return pop_number() != 42;
}
