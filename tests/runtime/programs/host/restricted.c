// A program that allows itself its own system calls only, by a filter that kills (seccomp), and then does what makes
// the runtime work. Arguments: the occasion; "clocks" allows clock_gettime and getrusage as well; "strict" is strict
// mode, which makes reading the clock deadly, as "clock" does alone.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2], ends[2], poller, file;

__attribute__((noinline)) static long work(long n) {
  volatile long sum = 0;
  for (long i = 0; i < n; ++i) sum = sum + i;
  return sum;
}

static void say(const char *text) {
  if (write(1, text, strlen(text)) < 0) abort();
}

static jmp_buf landing;

__attribute__((noinline)) static long deep(int n) {
  if (n == 0) longjmp(landing, 1);
  return deep(n - 1) + work(n);
}

static void jump(void) {
  for (volatile int i = 0; i < 100; ++i)
    if (setjmp(landing) == 0) deep(i % 20);
}

static void *in_thread(void *n) {
  work((long)n);
  return n;
}

static void make_threads(void) {
  pthread_t thread;
  for (long i = 0; i < 20; ++i)
    if (pthread_create(&thread, NULL, in_thread, (void *)i) == 0) pthread_join(thread, NULL);
}

static void fork_children(void) {
  for (int i = 0; i < 5; ++i) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      work(100);
      _exit(7);
    }
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 7) say("a child was killed\n");
  }
}

static void be_switched(void) {
  for (int i = 0; i < 200; ++i) {
    usleep(10);
    work(10);
  }
}

static void use_descriptors(void) {
  char bytes[8];
  struct pollfd asked = {ends[0], POLLIN, 0};
  struct epoll_event event;
  struct flock all = {.l_type = F_WRLCK};
  for (int i = 0; i < 3; ++i) {
    if (write(pair[1], "x", 1) != 1 || read(pair[0], bytes, 1) != 1) abort();
    if (write(ends[1], "xx", 2) != 2 || poll(&asked, 1, -1) != 1 || epoll_wait(poller, &event, 1, -1) != 1) abort();
    if (read(ends[0], bytes, 2) != 2 || poll(&asked, 1, 1) != 0 || epoll_wait(poller, &event, 1, 1) != 0) abort();
    fcntl(file, F_SETLKW, &all);
    flock(file, LOCK_EX);
    close(dup(pair[0]));
  }
  int more[2];
  if (pipe(more) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, more) != 0) abort();
  eventfd(0, 0);
  mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
}

static void end_at_once(void) {}

static const struct {
  const char *name;
  void (*run)(void);
} occasions[] = {{"jump", jump},
                 {"threads", make_threads},
                 {"fork", fork_children},
                 {"switched", be_switched},
                 {"descriptors", use_descriptors},
                 {"end", end_at_once}};

// Of the program as it is without vprof.
static const int own[] = {SYS_read,           SYS_rt_sigaction, SYS_write,
                          SYS_close,          SYS_exit,         SYS_exit_group,
                          SYS_futex,          SYS_brk,          SYS_mmap,
                          SYS_munmap,         SYS_mprotect,     SYS_madvise,
                          SYS_clone3,         SYS_clone,        SYS_rseq,
                          SYS_getrandom,      SYS_rt_sigreturn, SYS_poll,
                          SYS_rt_sigprocmask, SYS_epoll_wait,   SYS_clock_nanosleep,
                          SYS_fcntl,          SYS_flock,        SYS_dup,
                          SYS_pipe2,          SYS_pipe,         SYS_socketpair,
                          SYS_eventfd2,       SYS_wait4,        SYS_set_robust_list};

static void restrict_calls(int clocks) {
  enum { MOST = 128 };
  struct sock_filter rules[MOST];
  unsigned short n = 0;
  rules[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i) {
    rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)own[i], 0, 1);
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  for (int i = 0; clocks && i < 2; ++i) {
    rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, i ? SYS_getrusage : SYS_clock_gettime, 0, 1);
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  const struct sock_fprog filter = {n, rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (clocks ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) : syscall(SYS_seccomp, 1, 0, &filter)) abort();
}

int main(int count, char **words) {
  if (count < 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || pipe(ends) != 0) return 2;
  struct epoll_event event = {.events = EPOLLIN};
  poller = epoll_create1(0);
  epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
  file = memfd_create("file", 0);
  if (ftruncate(file, 4096) != 0) return 2;
  work(1);
  if (strcmp(words[2], "strict") == 0) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    for (int i = 0; i < 1000; ++i) work(1000);
    say("strict\n");
    syscall(SYS_exit, 0);
  }
  if (strcmp(words[2], "clock") == 0) {
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    for (int i = 0; i < 1000; ++i) work(1000);
    usleep(100);
    say("clock\n");
    _exit(0);
  }
  restrict_calls(strcmp(words[2], "clocks") == 0);
  for (size_t i = 0; i < sizeof occasions / sizeof *occasions; ++i)
    if (strcmp(words[1], occasions[i].name) == 0) occasions[i].run();
  say("done\n");
  _exit(0);
}
