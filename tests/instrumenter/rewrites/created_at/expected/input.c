// Begins that pass in when the request was created: at entry, at exit (evaluated at entry), and of what a call returned.
#include <stdio.h>

struct job {
  unsigned long id;
  const char *name;
  unsigned long made_ns;
  unsigned made_us;
};

static void handle(const struct job *job) { __VPROF_PROBE(0) __VPROF_CREATED_ENTRY(interval_0, (job->id), 0, (job->made_ns), 1)  puts(job->name); }

static void handle_late(struct job *job) { __VPROF_PROBE(1) __VPROF_CREATED_EXIT(interval_1, (job->id), (job->name), (1000ul * job->made_us), 0) 
  puts(job->name);
  job->made_us = 0;
}

static struct job *take(struct job *job) { return job; }

int main(void) { __VPROF_PROBE(2) __VPROF_KEEP_VALUE(interval_2, 1, struct job *) 
  struct job job = {7, "read", 123456789012, 5000};
  handle(&job);
  handle_late(&job);
  puts((__vprof_value_1 = take(&job), __VPROF_CREATED_AT(interval_2, (__vprof_value_1->id), 0, (__vprof_value_1->made_ns), 0), __VPROF_VALUE(1))->name);
  return 0;
}
