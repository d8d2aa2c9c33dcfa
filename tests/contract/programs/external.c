/* external FILE: calls of the C library below functions of our own. Exits with the number of the step that went wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int file, ends[2];
static volatile sig_atomic_t handled;
static char data[64];
static volatile size_t size = sizeof data; /* checked at run time by -D_FORTIFY_SOURCE */

/* Before any constructor, the runtime's too. */
static char early_byte = 'x';
static void start_early(void) {
  const int zeros = open("/dev/zero", O_RDONLY);
  if (read(zeros, &early_byte, 1) == 1) close(zeros);
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = start_early;

static int load(void) {
  int good = 0;
  for (int i = 0; i < 3; ++i) good += pread(file, data, size, 0) == sizeof data;
  for (int i = 0; i < 2; ++i) good += pread64(file, data, size, 0) == sizeof data;
  return good == 5;
}

static int save(void) {
  return pwrite(file, data, sizeof data, 0) == sizeof data && fsync(file) == 0;
}

static int receive(void) {
  return send(ends[0], "x", 1, 0) == 1 && recv(ends[1], data, size, 0) == 1;
}

/* errno is the real call's, whether it fails or not. */
static int fail(void) {
  errno = 0;
  if (read(-1, data, 1) != -1 || errno != EBADF) return 0;
  errno = ERANGE;
  return read(file, data, 0) == 0 && errno == ERANGE;
}

static void on_alarm(int number) {
  handled = number == SIGALRM && write(ends[0], "y", 1) == 1;
}

/* The handler's call most likely interrupts the recv() that waits for its byte. */
static int interrupt(void) {
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  if (sigaction(SIGALRM, &action, NULL) != 0) return 0;
  ualarm(20000, 0);
  return recv(ends[1], data, size, 0) == 1 && handled;
}

static void *stuck(void *unused) {
  char c;
  return read(ends[1], &c, 1) == 1 ? unused : NULL;
}

/* A thread cancelled in read() ends there. */
static int cancel(void) {
  pthread_t thread;
  void *result = NULL;
  pthread_create(&thread, NULL, stuck, NULL);
  usleep(20000);
  return pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

static int child(void) {
  return fdatasync(file);
}

static int spawn(void) {
  int status = -1;
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  return waitpid(pid, &status, 0) == pid && status == 0;
}

/* The child of vfork works on our thread until it ends. */
static int borrow(void) {
  int status = -1;
  const pid_t pid = vfork();
  if (pid == 0) {
    close(ends[0]);
    _exit(0);
  }
  return waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv) {
  file = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0640);
  if (file < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
  if (early_byte != 0) return 9;
  if (!save()) return 2;
  if (!load()) return 3;
  if (!receive()) return 4;
  if (!fail()) return 5;
  if (!cancel()) return 6;
  if (!interrupt()) return 10;
  if (!spawn()) return 7;
  if (!borrow()) return 8;
  return 0;
}
