// Events at calls: with the variables in scope there, composed with numbers of calls, with all values as before.
#include <stdio.h>

struct job {
  unsigned long id;
};
static struct job jobs[] = {{1000}, {2000}};
static int left = 2;

static struct job *pop(void) { return left ? &jobs[--left] : NULL; }
static void push(struct job *job) { __VPROF_PROBE(0)  printf("push %lu\n", job->id); }

static int serve(struct job *job) { __VPROF_PROBE(1) 
  struct job next = {job->id + 1};
  (__VPROF_AT(queue_1, enqueue, (&next)), push(&next));
  return printf("served\n") > 0;
}

static int worker(int tries) { __VPROF_PROBE_CALLS(2) __VPROF_KEEP_VALUE(interval_0, 1, struct job *) __VPROF_KEEP_VALUE(interval_1, 2, int) __VPROF_KEEP_VALUE(interval_1, 3, int) __VPROF_KEEP_VALUE(interval_1, 4, int) 
  struct job *job;
  int done = 0;
  while ((job = (__vprof_value_1 = pop(), __VPROF_AT(queue_0, dequeue_any, (__vprof_value_1)), __VPROF_AT(interval_0, on_behalf, (__vprof_value_1 ? __vprof_value_1->id : 0)), __VPROF_VALUE(1))) != NULL) {
    const char *name = "first";
    tries += name != NULL;
    done += (__VPROF_CALL_NUMBER(1), (__VPROF_TYPED_AT(interval_1, interval_begin, (job->id + tries), (name)), __vprof_value_2 = serve(job), __VPROF_AT(interval_2, interval_end, (job->id + tries)), __VPROF_VALUE(2)));
    if (tries > 100) return (__VPROF_CALL_NUMBER(2), (__VPROF_TYPED_AT(interval_1, interval_begin, (job->id + tries), (name)), __vprof_value_3 = serve(job), __VPROF_AT(interval_2, interval_end, (job->id + tries)), __VPROF_VALUE(3)));
    { const char *name = "again"; done += name[0] == 'a' ? (__VPROF_CALL_NUMBER(3), (__VPROF_TYPED_AT(interval_1, interval_begin, (job->id + tries), (name)), __vprof_value_4 = serve(job), __VPROF_AT(interval_2, interval_end, (job->id + tries)), __VPROF_VALUE(4))) : 0; }
  }
  return done;
}

static int lock, other;
static int wait_for(int **object) { __VPROF_PROBE(3) 
  *object = &other;
  return puts("wait");
}
static void post(int *object) { __VPROF_PROBE(4)  puts(object == &other ? "post other" : "post lock"); }

static int locked(void) { __VPROF_PROBE(5) __VPROF_KEEP_OBJECT(sync_0_1) __VPROF_KEEP_VALUE(sync_0, 1, int) __VPROF_KEEP_OBJECT(sync_1_2) 
  int *place = &lock;
  int **which = &place;
  if (!(__VPROF_AT_OBJECT(sync_0_1, wait_begin, wait_end, (*which)), __vprof_value_1 = wait_for(which), __VPROF_DONE_OBJECT(sync_0_1, wait_end), __VPROF_VALUE(1))) return 1;
  return (__VPROF_AT_OBJECT(sync_1_2, wake, wake_done, (*which)), post(place), __VPROF_DONE_OBJECT(sync_1_2, wake_done)), 0;
}

static int (*chosen(int i))(int);
static int number(int i) { __VPROF_PROBE(6)  return i + printf("number\n") - 7; }
static int (*chosen(int i))(int) { return i > 5 ? number : NULL; }
static int numbers(void) { __VPROF_PROBE_CALLS(7) __VPROF_KEEP_VALUE(queue_2, 1, int) __VPROF_KEEP_VALUE(queue_2, 2, int) __VPROF_KEEP_VALUE(queue_2, 3, int) __VPROF_KEEP_VALUE(queue_2, 4, int) __VPROF_KEEP_VALUE(queue_2, 5, int) __VPROF_KEEP_VALUE(queue_3, 6, int (*)(int)) __VPROF_KEEP_VALUE(queue_3, 7, int (*)(int)) 
  int sum = (__VPROF_CALL_NUMBER(1), (__vprof_value_1 = number((__vprof_value_2 = number(3), __VPROF_AT(queue_2, enqueue_any, (__vprof_value_2 - 1)), __VPROF_VALUE(2))), __VPROF_AT(queue_2, enqueue_any, (__vprof_value_1 - 1)), __VPROF_VALUE(1))) + (__VPROF_CALL_NUMBER(2), (__vprof_value_3 = number(1), __VPROF_AT(queue_2, enqueue_any, (__vprof_value_3 - 1)), __VPROF_VALUE(3))), i;
  for (i = 0; i < (__VPROF_CALL_NUMBER(3), (__vprof_value_4 = number(2), __VPROF_AT(queue_2, enqueue_any, (__vprof_value_4 - 1)), __VPROF_VALUE(4))); i++) sum += (__VPROF_CALL_NUMBER(4), (__vprof_value_5 = number(10), __VPROF_AT(queue_2, enqueue_any, (__vprof_value_5 - 1)), __VPROF_VALUE(5)));
  return sum + (__VPROF_CALL_NUMBER(0), (__vprof_value_6 = chosen(6), __VPROF_AT(queue_3, dequeue_any, (__vprof_value_6)), __VPROF_VALUE(6))(4)) + !(__vprof_value_7 = chosen(5), __VPROF_AT(queue_3, dequeue_any, (__vprof_value_7)), __VPROF_VALUE(7)) + (int)sizeof(number(9));
}

int main(void) { __VPROF_PROBE(8) 
  printf("%d\n", worker(0));
  printf("%d\n", locked());
  printf("%d\n", numbers());
  return 0;
}
