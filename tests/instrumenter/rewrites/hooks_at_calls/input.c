// Events at calls: with the variables in scope there, composed with numbers of calls, with all values as before.
#include <stdio.h>

struct job {
  unsigned long id;
};
static struct job jobs[] = {{1000}, {2000}};
static int left = 2;

static struct job *pop(void) { return left ? &jobs[--left] : NULL; }
static void push(struct job *job) { printf("push %lu\n", job->id); }

static int serve(struct job *job) {
  struct job next = {job->id + 1};
  push(&next);
  return printf("served\n") > 0;
}

static int worker(int tries) {
  struct job *job;
  int done = 0;
  while ((job = pop()) != NULL) {
    const char *name = "first";
    tries += name != NULL;
    done += serve(job);
    if (tries > 100) return serve(job);
    { const char *name = "again"; done += name[0] == 'a' ? serve(job) : 0; }
  }
  return done;
}

static int lock, other;
static int wait_for(int **object) {
  *object = &other;
  return puts("wait");
}
static void post(int *object) { puts(object == &other ? "post other" : "post lock"); }

static int locked(void) {
  int *place = &lock;
  int **which = &place;
  if (!wait_for(which)) return 1;
  return post(place), 0;
}

static int (*chosen(int i))(int);
static int number(int i) { return i + printf("number\n") - 7; }
static int (*chosen(int i))(int) { return i > 5 ? number : NULL; }
static int numbers(void) {
  int sum = number(number(3)) + number(1), i;
  for (i = 0; i < number(2); i++) sum += number(10);
  return sum + chosen(6)(4) + !chosen(5) + (int)sizeof(number(9));
}

int main(void) {
  printf("%d\n", worker(0));
  printf("%d\n", locked());
  printf("%d\n", numbers());
  return 0;
}
