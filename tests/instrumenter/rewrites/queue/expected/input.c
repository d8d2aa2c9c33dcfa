// Task hand-over: `return` is the returned value; nothing is dequeued when it is 0. At an entry, before anybody works for it.
#include <stdio.h>

#define NONE 0

struct job {
  int number;
};
static struct job *slot;

static void push(struct job *job) { __VPROF_ENTRY(queue_0, enqueue, (job->number))  slot = job; }

static struct job *pop(int take) { __VPROF_RETURNED(struct job *) 
  struct job *job = slot;
  if (!take) return __vprof_returned = ( NONE) __VPROF_RETURNED_END;
  if (!job)
    return __vprof_returned = ( puts("empty"), (struct job *)0) __VPROF_RETURNED_END;
  slot = 0;
  return __vprof_returned = ( job) __VPROF_RETURNED_END;
}

static unsigned pop_number(void) { __VPROF_RETURNED(unsigned int) 
  return __vprof_returned = ( 42) __VPROF_RETURNED_END;
}

static void serve(int number) { __VPROF_PROBE(0) __VPROF_ENTRY(queue_3, dequeue, (number)) __VPROF_ENTRY(interval_0, on_behalf, (number))  printf("serving %d\n", number); }

int main(void) { __VPROF_PROBE(1) 
  struct job job = {3};
  push(&job);
  pop(0);
  printf("%d\n", pop(1)->number);
  pop(1);
  serve(3);
  return pop_number() != 42;
}
