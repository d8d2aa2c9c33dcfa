/* gaps GAP: what an emulator leaves undone of a kernel's work, shown without any of vprof. Prints `there` if the kernel
 * does it, else `missing`. */
#include <dirent.h>
#include <errno.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *own_path;
static pthread_mutex_t mutex;

static void *die_with_mutex(void *unused) {
  pthread_mutex_lock(&mutex);
  return unused;
}

/* The next who wants it learns that its owner has died. */
static int robust_mutex(void) {
  pthread_mutexattr_t robust;
  pthread_mutexattr_init(&robust);
  pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&mutex, &robust);
  pthread_t owner;
  if (pthread_create(&owner, NULL, die_with_mutex, NULL) != 0) exit(2);
  pthread_join(owner, NULL);
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  return pthread_mutex_timedlock(&mutex, &until) == EOWNERDEAD;
}

/* This program, once more. */
static int exec_again(void) {
  const pid_t child = fork();
  if (child == 0) {
    close(1);
    execl(own_path, own_path, "nothing", (char *)NULL);
    _exit(1);
  }
  int status;
  waitpid(child, &status, 0);
  return status == 0;
}

/* A socket for questions about sockets. */
static int sock_diag(void) {
  return socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG) >= 0;
}

/* A program with one thread has one thread. */
static int threads(void) {
  int entries = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (tasks == NULL) exit(2);
  while (readdir(tasks) != NULL) ++entries;
  closedir(tasks);
  return entries == 3; /* with . and .. */
}

static int nothing(void) {
  return 1;
}

static const struct {
  const char *name;
  int (*is_there)(void);
} gaps[] = {
    {"robust-mutex", robust_mutex}, {"exec", exec_again}, {"sock-diag", sock_diag},
    {"threads", threads},           {"nothing", nothing},
};

int main(int argc, char **argv) {
  own_path = argv[0];
  for (size_t i = 0; argc == 2 && i < sizeof gaps / sizeof *gaps; ++i)
    if (strcmp(argv[1], gaps[i].name) == 0) {
      puts(gaps[i].is_there() ? "there" : "missing");
      return 0;
    }
  return 2;
}
