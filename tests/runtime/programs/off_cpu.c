/* off_cpu SCENARIO: is off the CPU for reasons known beforehand, inside probed functions. Prints what the thread itself
 * knows of that time: "wall - cpu", run delay (ns), switches in sleep, while runnable, major faults, how often the
 * runtime looked, and how much of the time within waits may have been around them (ns). */
#include <errno.h>
#include <fcntl.h>
#include <linux/rseq.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "probes.h"
#include "vprof/vprof.h"

enum { INNER, OUTER };
/* Intervals that mark the time of which `usage` tells. */
enum { START = 77, END = 78 };

struct usage {
  long long off_ns, run_delay_ns, sleeps, preemptions, faults, looks, unsure_ns;
};

static int schedstat;

static long rusage_of_thread(struct rusage *r) {
  long result = 98; /* getrusage */
  __asm__ volatile("syscall" : "+a"(result) : "D"((long)RUSAGE_THREAD), "S"(r) : "rcx", "r11", "memory");
  return result;
}

/* In place of the C library's: only the runtime calls it. */
static _Thread_local long long looks;
int getrusage(__rusage_who_t who, struct rusage *r) {
  if (who != RUSAGE_THREAD) abort();
  ++looks;
  return (int)rusage_of_thread(r);
}

static long long ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static struct usage usage(void) {
  char text[100] = "";
  long long ran, delay = 0;
  if (pread(schedstat, text, sizeof text - 1, 0) > 0) sscanf(text, "%lld %lld", &ran, &delay);
  struct rusage r;
  rusage_of_thread(&r);
  const long long wall = ns(CLOCK_MONOTONIC_RAW), cpu = ns(CLOCK_THREAD_CPUTIME_ID);
  return (struct usage){wall - cpu, delay, r.ru_nvcsw, r.ru_nivcsw, r.ru_majflt, looks, 0};
}

static long long switches(void) {
  struct rusage r;
  rusage_of_thread(&r);
  return r.ru_nvcsw + r.ru_nivcsw;
}

static void inner(void);

/* At an event, and the last `mark` in the trace: nothing switched the thread off in between. */
static struct usage usage_at(uint64_t mark) {
  struct usage now;
  long long before;
  do {
    before = switches();
    inner();
    now = usage();
    vprof_on_behalf(mark);
  } while (switches() != before);
  return now;
}

static void print_since(struct usage a) {
  const struct usage b = usage_at(END);
  printf("%lld %lld %lld %lld %lld %lld %lld\n", b.off_ns - a.off_ns, b.run_delay_ns - a.run_delay_ns,
         b.sleeps - a.sleeps, b.preemptions - a.preemptions, b.faults - a.faults, b.looks - a.looks,
         b.unsure_ns - a.unsure_ns);
}

__attribute__((noinline)) static void inner(void) {
  TEST_ENTER(INNER);
  for (int i = 0; i < 1000; ++i) __asm__ volatile("" ::: "memory");
  TEST_LEAVE(INNER);
}

__attribute__((noinline)) static void work_for(long long duration_ns) {
  TEST_ENTER(OUTER);
  const long long end = ns(CLOCK_MONOTONIC_RAW) + duration_ns;
  while (ns(CLOCK_MONOTONIC_RAW) < end) inner();
  TEST_LEAVE(OUTER);
}

/* Not the C library's, which has a probe of its own. */
static void sleep_without_libc(long sleep_ns) {
  const struct timespec t = {0, sleep_ns};
  long result = 35; /* nanosleep */
  __asm__ volatile("syscall" : "+a"(result) : "D"(&t), "S"(NULL) : "rcx", "r11", "memory");
}

__attribute__((noinline)) static void sleep_inside(long sleep_ns) {
  TEST_ENTER(INNER);
  sleep_without_libc(sleep_ns);
  TEST_LEAVE(INNER);
}

static void pin_to_one_cpu(void) {
  cpu_set_t all, one;
  sched_getaffinity(0, sizeof all, &all);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/* Shares the CPU, not longer than we live: waiting for its end would be an event more. */
static void start_competitor(void) {
  pin_to_one_cpu();
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const long long end = ns(CLOCK_MONOTONIC_RAW) + 20000000000;
  while (ns(CLOCK_MONOTONIC_RAW) < end) continue;
  _exit(0);
}

/* On a machine with much else to do some time may pass without it. */
static int was_preempted_since(struct usage before) {
  enum { TIMES = 5 };
  return usage().preemptions >= before.preemptions + TIMES;
}

static void preempted(void) {
  start_competitor();
  const struct usage before = usage_at(START);
  do work_for(400000000);
  while (!was_preempted_since(before));
  print_since(before);
}

static void sleeping(void) {
  const struct usage before = usage_at(START);
  for (int i = 0; i < 40; ++i) sleep_inside(5000000);
  print_since(before);
}

static void mixed(void) {
  start_competitor();
  const struct usage before = usage_at(START);
  for (int i = 0; i < 40 || !was_preempted_since(before); ++i) {
    work_for(6000000);
    sleep_inside(3000000);
  }
  print_since(before);
}

/* Runs and sleeps in turn without an event between but the C library's calls, whose probes are off. */
__attribute__((noinline)) static void calling(void) {
  start_competitor();
  const struct usage before = usage_at(START);
  TEST_ENTER(OUTER);
  for (int i = 0; i < 40 || !was_preempted_since(before); ++i) {
    const long long end = ns(CLOCK_MONOTONIC_RAW) + 6000000;
    while (ns(CLOCK_MONOTONIC_RAW) < end) continue;
    usleep(3000);
  }
  TEST_LEAVE(OUTER);
  print_since(before);
}

enum { CHANGES = 20, CHANGE_NS = 3000000 };

/* A child with a lease on the file lets each change of it wait so long; `leases` counts those it has held, -1: it gets
 * none. */
static void lease(const char *name, _Atomic int *leases) {
  sigset_t asked;
  sigemptyset(&asked);
  sigaddset(&asked, SIGIO);
  if (fork() != 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigprocmask(SIG_BLOCK, &asked, NULL);
  const int fd = open(name, O_RDONLY);
  for (int i = 0; i < CHANGES; ++i) {
    int failed;
    while ((failed = fcntl(fd, F_SETLEASE, F_RDLCK)) != 0 && errno == EAGAIN) continue;  // the change goes on still
    atomic_store(leases, failed ? -1 : i + 1);
    int signal;
    sigwait(&asked, &signal);
    sleep_without_libc(CHANGE_NS);
    fcntl(fd, F_SETLEASE, F_UNLCK);
  }
  _exit(0);
}

/* Changes a file, which waits, by calls whose probes are off; then sleeps otherwise. */
static void storing(void) {
  char name[] = "off_cpu.XXXXXX";
  close(mkstemp(name));
  _Atomic int *leases = mmap(NULL, sizeof *leases, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  lease(name, leases);
  const struct usage before = usage_at(START);
  TEST_ENTER(OUTER);
  for (int i = 1; i <= CHANGES; ++i) {
    int held;
    while ((held = atomic_load(leases)) >= 0 && held < i) continue;
    if (held < 0 || truncate(name, i) != 0) exit(1);
  }
  sleep_without_libc(20000000);
  TEST_LEAVE(OUTER);
  print_since(before);
  unlink(name);
}

/* Pages that the kernel has dropped come back from the disk, if the file's system is on one. A virtual disk may have
 * brought a page before the thread slept for it: the hypervisor took that time, and it is told with the next switch. */
static void faulting(void) {
  enum { kBytes = 16 << 20, kPage = 4096 };
  char name[] = "off_cpu.XXXXXX";
  const int fd = mkstemp(name);
  unlink(name);
  char *block = calloc(1, kBytes);
  if (write(fd, block, kBytes) != kBytes || fsync(fd) != 0) exit(1);
  char *mapped = mmap(NULL, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  madvise(mapped, kBytes, MADV_RANDOM);
  posix_fadvise(fd, 0, kBytes, POSIX_FADV_DONTNEED);
  const struct usage before = usage_at(START);
  for (int i = 0; i < 200; ++i) {
    TEST_ENTER(INNER);
    ((volatile char *)mapped)[(i * 7919 % (kBytes / kPage)) * kPage];
    TEST_LEAVE(INNER);
  }
  sleep_inside(50000);
  print_since(before);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;

static void *hold_lock(void *unused) {
  pthread_mutex_lock(&lock);
  pthread_barrier_wait(&locked);
  sleep_without_libc(200000000);
  pthread_mutex_unlock(&lock);
  return unused;
}

/* A wait for a lock, between two other sleeps. */
static void waiting(void) {
  pthread_t holder;
  pthread_barrier_init(&locked, NULL, 2);
  pthread_create(&holder, NULL, hold_lock, NULL);
  pthread_barrier_wait(&locked);
  const struct usage before = usage_at(START);
  TEST_ENTER(OUTER);
  sleep_without_libc(20000000);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  sleep_without_libc(20000000);
  TEST_LEAVE(OUTER);
  print_since(before);
  pthread_join(holder, NULL);
}

static long long preemptions_of_thread(void) {
  struct rusage r;
  rusage_of_thread(&r);
  return r.ru_nivcsw;
}

enum { ASKED = 480, SLEEP_EVERY = 16 };

static int questions[2], answers[2];

static void *ask(void *unused) {
  char answer;
  for (int i = 0; i < ASKED; ++i) {
    sleep_without_libc(1000000);
    if (write(questions[1], "?", 1) != 1 || read(answers[0], &answer, 1) != 1) exit(1);
  }
  return unused;
}

/* What it is off the CPU for in the wait does not count in `since`. Preempted as well, it may have been around it. */
static void wait_for_question(struct usage *since) {
  struct pollfd file = {questions[0], POLLIN, 0};
  char question;
  const long long preemptions = preemptions_of_thread();
  const long long before = ns(CLOCK_MONOTONIC_RAW) - ns(CLOCK_THREAD_CPUTIME_ID);
  if (poll(&file, 1, -1) != 1) exit(1);
  const long long within = ns(CLOCK_MONOTONIC_RAW) - ns(CLOCK_THREAD_CPUTIME_ID) - before;
  since->off_ns += within;
  if (preemptions_of_thread() != preemptions) since->unsure_ns -= within;
  if (poll(&file, 1, -1) != 1) exit(1); /* it waits for nothing */
  if (read(questions[0], &question, 1) != 1) exit(1);
}

/* Tells of what is outside of the waits: of so many answers one sleeps, and one takes `work_ns`. */
static void serve_for(long long work_ns) {
  pthread_t asker;
  if (pipe(questions) != 0 || pipe(answers) != 0) exit(1);
  pthread_create(&asker, NULL, ask, NULL);
  struct usage before = usage_at(START);
  for (int i = 0; i < ASKED; ++i) {
    wait_for_question(&before);
    if (i % SLEEP_EVERY == 3) sleep_inside(2000000);
    if (i % SLEEP_EVERY == 11) work_for(work_ns);
    if (write(answers[1], "!", 1) != 1) exit(1);
  }
  print_since(before);
  pthread_join(asker, NULL);
}

static void serving(void) {
  serve_for(0);
}

static void serving_preempted(void) {
  start_competitor();
  serve_for(20000000);
}

/* Time off the CPU is told before what begins and ends. */
static void intervals(void) {
  vprof_on_behalf(0);
  const struct usage before = usage();
  sleep_without_libc(10000000);
  vprof_interval_begin(1, NULL);
  sleep_without_libc(20000000);
  vprof_on_behalf(1);
  sleep_without_libc(30000000);
  vprof_interval_end(1);
  print_since(before);
}

/* A program with restartable sequences of its own. Under preemption and signals, whose handler has a probe, its
 * counters of CPUs stay exact; and what it has in rseq_cs is left alone. */
static struct {
  volatile long n;
  char rest[56];
} counters[1024];

static void on_alarm(int number) {
  (void)number;
  inner();
}

static volatile struct rseq *own_rseq(void) {
  char *thread_pointer;
  __asm__("movq %%fs:0, %0" : "=r"(thread_pointer));
  return (volatile struct rseq *)(thread_pointer + __rseq_offset);
}

/* Adds 1 to this CPU's counter, restartably. Returns 0 if it has to be tried again. */
__attribute__((noinline)) static int try_count(volatile struct rseq *rseq) {
  const uint32_t cpu = rseq->cpu_id_start;
  volatile long *counter = &counters[cpu].n;
  __asm__ goto(
      ".pushsection .data.rel.ro, \"aw\"\n .balign 32\n"
      "9: .long 0, 0\n .quad 1f, 2f - 1f, 4f\n .popsection\n"
      "leaq 9b(%%rip), %%rax\n movq %%rax, %[word]\n"
      "1: cmpl %[cpu], %[cpu_now]\n jne %l[again]\n"
      "movq %[counter], %%rax\n incq %%rax\n movq %%rax, %[counter]\n"
      "2:\n"
      ".pushsection .text.unlikely, \"ax\"\n .byte 0x0f, 0xb9, 0x3d\n .long 0x53053053\n"
      "4: jmp %l[again]\n .popsection\n"
      :
      : [word] "m"(rseq->rseq_cs), [cpu] "r"(cpu), [cpu_now] "m"(rseq->cpu_id), [counter] "m"(*counter)
      : "rax", "memory", "cc"
      : again);
  return 1;
again:
  return 0;
}

static void own_sequences(void) {
  start_competitor();
  signal(SIGALRM, on_alarm);
  const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
  volatile struct rseq *rseq = own_rseq();
  const struct usage before = usage_at(START);
  const long long end = ns(CLOCK_MONOTONIC_RAW) + 300000000;
  setitimer(ITIMER_REAL, &each_ms, NULL);
  long wanted = 0, found = 0;
  do {
    for (int i = 0; i < 100; ++i, ++wanted)
      while (!try_count(rseq)) continue;
    inner();
  } while (ns(CLOCK_MONOTONIC_RAW) < end || !was_preempted_since(before));
  setitimer(ITIMER_REAL, &never, NULL);
  for (int i = 0; i < 1024; ++i) found += counters[i].n;
  if (found != wanted) printf("counted %ld of %ld ", found, wanted);
  print_since(before);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } scenarios[] = {{"preempted", preempted},
                   {"sleeping", sleeping},
                   {"mixed", mixed},
                   {"faulting", faulting},
                   {"calling", calling},
                   {"storing", storing},
                   {"waiting", waiting},
                   {"intervals", intervals},
                   {"own", own_sequences},
                   {"serving", serving},
                   {"serving_preempted", serving_preempted}};
  schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i)
    if (argc == 2 && strcmp(argv[1], scenarios[i].name) == 0) {
      scenarios[i].run();
      return 0;
    }
  return 2;
}
