// The number of a socket that was read becomes that of another descriptor, in the ways of real servers. Argument:
// which.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2];

static void use_socket(void) {
  char bytes[8];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  if (write(pair[1], "hello", 5) != 5 || read(pair[0], bytes, sizeof bytes) != 5) abort();
}

static void show(const char *what, int fd) {
  char bytes[64] = "";
  errno = 0;
  const ssize_t size = read(fd, bytes, sizeof bytes - 1);
  printf("%s: %zd %s '%s'\n", what, size, strerrorname_np(errno), size > 0 ? bytes : "");
}

static int file(void) {
  const int made = memfd_create("file", 0);
  if (write(made, "of the file", 11) != 11) abort();
  lseek(made, 0, SEEK_SET);
  printf("the same number: %d\n", made == pair[0]);
  return made;
}

// As inetd and CGI hand a connection to a child.
static void by_vfork(void) {
  int ends[2], status;
  if (pipe(ends) != 0) abort();
  dup2(ends[0], 0);
  use_socket();
  const pid_t child = vfork();
  if (child == 0) {
    dup2(pair[0], 0);
    dup2(pair[0], 1);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
  }
  waitpid(child, &status, 0);
  if (write(ends[1], "of the pipe", 11) != 11) abort();
  show("standard input", 0);
  printf("child %d\n", status);
}

static void by_close_range(void) {
  use_socket();
  close_range((unsigned)pair[0], (unsigned)pair[1], 0);
  show("file", file());
}

static void by_closefrom(void) {
  use_socket();
  closefrom(pair[0]);
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  uint64_t times = 0;
  timerfd_settime(timer, 0, &soon, NULL);
  printf("the same number: %d\n", timer == pair[0]);
  const ssize_t size = read(timer, &times, sizeof times);
  printf("timer: %zd, %d\n", size, (int)times);
}

static void by_syscall(void) {
  use_socket();
  syscall(SYS_close, pair[0]);
  show("file", file());
  use_socket();
  const int kept = file();
  syscall(SYS_dup2, kept, pair[0]);
  show("file over the socket", pair[0]);
}

static void by_freopen(void) {
  use_socket();
  FILE *stream = freopen("/proc/self/comm", "r", fdopen(pair[0], "r+"));
  char bytes[64];
  printf("the same number: %d\n", fileno(stream) == pair[0]);
  printf("process: %d\n", read(fileno(stream), bytes, sizeof bytes) > 0);
}

static void by_pclose(void) {
  FILE *stream = popen("echo from the child", "r");
  const int number = fileno(stream);
  show("child", number);
  pclose(stream);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) abort();
  printf("the same number: %d\n", pair[0] == number);
  if (write(pair[1], "hello", 5) != 5) abort();
  show("socket", number);
}

static void by_dup2(void) {
  int ends[2];
  use_socket();
  if (pipe(ends) != 0 || write(ends[1], "of the pipe", 11) != 11) abort();
  dup2(ends[0], pair[0]);
  show("pipe over the socket", pair[0]);
  dup3(pair[1], pair[0], O_CLOEXEC);
  fcntl(pair[0], F_SETFL, O_NONBLOCK);
  show("the other end over it", pair[0]);
}

// The flags of an open file are shared by processes: one of them stops waiting for all.
static void by_other_process(void) {
  use_socket();
  const pid_t child = fork();
  if (child == 0) {
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  show("nothing there", pair[0]);
  int told[2];
  char byte;
  if (pipe(told) != 0) abort();
  if (fork() == 0) {
    fcntl(pair[0], F_SETFL, 0);
    if (write(told[1], "x", 1) != 1) abort();
    usleep(20000);
    if (write(pair[1], "later", 5) != 5) abort();
    _exit(0);
  }
  if (read(told[0], &byte, 1) != 1) abort();
  show("waited for", pair[0]);
  wait(NULL);
}

static void again_and_again(void) {
  for (int i = 0; i < 3; ++i) {
    use_socket();
    closefrom(pair[0]);
    show("file", file());
    closefrom(pair[0]);
  }
}

static const struct {
  const char *name;
  void (*run)(void);
} ways[] = {{"vfork", by_vfork},     {"close_range", by_close_range}, {"closefrom", by_closefrom},
            {"syscall", by_syscall}, {"freopen", by_freopen},         {"pclose", by_pclose},
            {"dup2", by_dup2},       {"shared", by_other_process},    {"again", again_and_again}};

int main(int count, char **words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  alarm(60);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
    if (count == 2 && strcmp(words[1], ways[i].name) == 0) ways[i].run();
  return 0;
}
