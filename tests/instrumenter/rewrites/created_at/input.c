// Begins that pass in when the request was created: at entry, at exit (evaluated at entry), and of what a call returned.
#include <stdio.h>

struct job {
  unsigned long id;
  const char *name;
  unsigned long made_ns;
  unsigned made_us;
};

static void handle(const struct job *job) { puts(job->name); }

static void handle_late(struct job *job) {
  puts(job->name);
  job->made_us = 0;
}

static struct job *take(struct job *job) { return job; }

int main(void) {
  struct job job = {7, "read", 123456789012, 5000};
  handle(&job);
  handle_late(&job);
  puts(take(&job)->name);
  return 0;
}
