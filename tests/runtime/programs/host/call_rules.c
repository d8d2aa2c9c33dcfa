// What calls promise besides their work: cancellation points, checks of arguments, what they leave untouched, and that
// a signal handler may jump out of them. What is printed must be the same with and without a session. Argument: the
// group.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int pair[2], ends[2], file, poller, queue;
static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static char bytes[64];

static void set_up(void) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 || pipe(ends) != 0) abort();
  file = memfd_create("file", 0);
  poller = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = ends[0]};
  epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
  queue = msgget(IPC_PRIVATE, 0600);
  sem_init(&semaphore, 0, 1);
}

// The descriptors are looked at, and everything can be had at once.
static void fill(void) {
  struct {
    long type;
    char text[1];
  } message = {1, "m"};
  if (write(ends[1], "in the pipe", 11) != 11 || write(pair[1], "in the socket", 13) != 13) abort();
  if (read(ends[0], bytes, 1) != 1 || read(pair[0], bytes, 1) != 1) abort();
  if (msgsnd(queue, &message, 1, 0) != 0) abort();
}

// Cancellation: a thread with a pending request calls what need not wait

static void call_read(void) {
  (void)!read(ends[0], bytes, 1);
}
static void call_read_socket(void) {
  (void)!read(pair[0], bytes, 1);
}
static void call_recv(void) {
  recv(pair[0], bytes, 1, 0);
}
static void call_recv_now(void) {
  recv(pair[0], bytes, 1, MSG_DONTWAIT);
}
static void call_write(void) {
  (void)!write(pair[0], "x", 1);
}
static void call_send(void) {
  send(pair[0], "x", 1, 0);
}
static void call_poll(void) {
  struct pollfd asked = {ends[0], POLLIN, 0};
  poll(&asked, 1, -1);
}
static void call_select(void) {
  fd_set in;
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  select(ends[0] + 1, &in, NULL, NULL, NULL);
}
static void call_epoll_wait(void) {
  struct epoll_event event;
  epoll_wait(poller, &event, 1, -1);
}
static void call_sem_wait(void) {
  sem_wait(&semaphore);
}
static void call_sem_timedwait(void) {
  const struct timespec never = {0, 0};
  sem_timedwait(&semaphore, &never);
}
static void call_sem_clockwait(void) {
  const struct timespec never = {0, 0};
  sem_clockwait(&semaphore, CLOCK_MONOTONIC, &never);
}
static void call_fcntl_lock(void) {
  struct flock all = {.l_type = F_RDLCK};
  fcntl(file, F_SETLKW, &all);
}
static void call_ofd_lock(void) {
  struct flock all = {.l_type = F_RDLCK};
  fcntl(file, F_OFD_SETLKW, &all);
}
static void call_flock(void) {
  flock(file, LOCK_SH);
}
static void call_waitpid(void) {
  waitpid(-1, NULL, 0);
}
static void call_waitid(void) {
  siginfo_t status;
  waitid(P_ALL, 0, &status, WEXITED);
}
static void call_msgrcv(void) {
  struct {
    long type;
    char text[1];
  } message;
  msgrcv(queue, &message, 1, 0, 0);
}
static void call_sigtimedwait(void) {
  sigset_t signals;
  const struct timespec soon = {0, 1};
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  sigtimedwait(&signals, NULL, &soon);
}
static void call_mutex_lock(void) {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
}
static void call_usleep(void) {
  usleep(1);
}
static void call_close(void) {
  close(dup(file));
}
static void call_connect(void) {
  const struct sockaddr_un nowhere = {.sun_family = AF_UNIX, .sun_path = "/nowhere"};
  const int client = socket(AF_UNIX, SOCK_STREAM, 0);
  connect(client, (const struct sockaddr *)&nowhere, sizeof nowhere);
}

static const struct {
  const char *name;
  void (*make)(void);
} cancelled_calls[] = {{"read", call_read},
                       {"read of a socket", call_read_socket},
                       {"recv", call_recv},
                       {"recv now", call_recv_now},
                       {"write", call_write},
                       {"send", call_send},
                       {"poll", call_poll},
                       {"select", call_select},
                       {"epoll_wait", call_epoll_wait},
                       {"sem_wait", call_sem_wait},
                       {"sem_timedwait", call_sem_timedwait},
                       {"sem_clockwait", call_sem_clockwait},
                       {"fcntl lock", call_fcntl_lock},
                       {"lock of an open file", call_ofd_lock},
                       {"flock", call_flock},
                       {"waitpid", call_waitpid},
                       {"waitid", call_waitid},
                       {"msgrcv", call_msgrcv},
                       {"sigtimedwait", call_sigtimedwait},
                       {"mutex", call_mutex_lock},
                       {"usleep", call_usleep},
                       {"close", call_close},
                       {"connect", call_connect}};

static void *be_cancelled(void *call) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  pthread_cancel(pthread_self());
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  cancelled_calls[*(const size_t *)call].make();
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  return NULL;
}

static void cancel(void) {
  fill();
  for (size_t i = 0; i < COUNT(cancelled_calls); ++i) {
    pthread_t thread;
    void *result;
    int value;
    pthread_create(&thread, NULL, be_cancelled, &i);
    pthread_join(thread, &result);
    sem_getvalue(&semaphore, &value);
    printf("%s: %s, %d\n", cancelled_calls[i].name, result == PTHREAD_CANCELED ? "cancelled" : "went on", value);
  }
}

// A handler jumps out of a call that waits; the thread ends in another way later

static sigjmp_buf landing;
static int waiting_call;

static void jump(int signal) {
  (void)signal;
  siglongjmp(landing, 1);
}

static void wait_for_the_signal(void) {
  struct pollfd asked = {pair[0], POLLIN, 0};
  struct epoll_event event;
  fd_set in;
  FD_ZERO(&in);
  FD_SET(pair[0], &in);
  switch (waiting_call) {
    case 0:
      (void)!read(ends[0], bytes, 1);
      break;
    case 1:
      recv(pair[0], bytes, 1, 0);
      break;
    case 2:
      poll(&asked, 1, -1);
      break;
    case 3:
      select(pair[0] + 1, &in, NULL, NULL, NULL);
      break;
    case 4:
      epoll_wait(poller, &event, 1, -1);
      break;
    case 5:
      pause();
      break;
    case 6:
      waitpid(-1, NULL, 0);
      break;
    default:
      sleep(5);
      break;
  }
}

__attribute__((noinline)) static int use_the_stack(int depth) {
  volatile char room[512];
  memset((char *)room, 0x5a, sizeof room);
  return depth == 0 ? room[0] : use_the_stack(depth - 1) + room[depth];
}

static void say(void *text) {
  printf("%s\n", (const char *)text);
}

static void *jump_out(void *cancelled) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGALRM);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  const struct itimerval soon = {{0, 0}, {0, 5000}};
  pthread_cleanup_push(say, "cleaned up");
  if (sigsetjmp(landing, 1) == 0) {
    setitimer(ITIMER_REAL, &soon, NULL);
    wait_for_the_signal();
  }
  use_the_stack(20);
  if (cancelled != NULL) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_exit("exited");
  pthread_cleanup_pop(0);
}

static void jumps(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGALRM);
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  signal(SIGALRM, jump);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  for (int cancelled = 0; cancelled < 2; ++cancelled)
    for (waiting_call = 0; waiting_call < 8; ++waiting_call) {
      pthread_t thread;
      void *result;
      pthread_create(&thread, NULL, jump_out, cancelled ? &thread : NULL);
      pthread_join(thread, &result);
      printf("%d: %s\n", waiting_call, result == PTHREAD_CANCELED ? "cancelled" : (const char *)result);
    }
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
}

// Times that are none, where nothing would have to wait

static void show(const char *what, int result) {
  printf("%s: %d %s\n", what, result, strerrorname_np(errno));
  errno = 0;
}

static void times(void) {
  const struct timespec bad = {0, -1}, past = {1, 0};
  struct timeval bad_time = {-1, 0};
  struct pollfd asked = {ends[0], POLLIN, 0};
  struct epoll_event event;
  sigset_t signals;
  fd_set in;
  fill();
  errno = 0;
  show("sem_timedwait", sem_timedwait(&semaphore, &bad));
  show("sem_clockwait", sem_clockwait(&semaphore, CLOCK_MONOTONIC, &bad));
  show("sem_clockwait, clock", sem_clockwait(&semaphore, CLOCK_PROCESS_CPUTIME_ID, &past));
  show("pthread_mutex_timedlock", pthread_mutex_timedlock(&mutex, &bad));
  pthread_mutex_unlock(&mutex);
  show("pthread_mutex_clocklock, clock", pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &past));
  pthread_mutex_unlock(&mutex);
  show("pthread_rwlock_timedrdlock", pthread_rwlock_timedrdlock(&rwlock, &bad));
  show("pthread_rwlock_timedwrlock", pthread_rwlock_timedwrlock(&rwlock, &bad));
  show("pthread_rwlock_clockrdlock, clock", pthread_rwlock_clockrdlock(&rwlock, CLOCK_PROCESS_CPUTIME_ID, &past));
  show("ppoll", ppoll(&asked, 1, &bad, NULL));
  FD_ZERO(&in);
  FD_SET(ends[0], &in);
  show("select", select(ends[0] + 1, &in, NULL, NULL, &bad_time));
  show("pselect", pselect(ends[0] + 1, &in, NULL, NULL, &bad, NULL));
  show("epoll_pwait2", epoll_pwait2(poller, &event, 1, &bad, NULL));
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  raise(SIGUSR1);
  show("sigtimedwait", sigtimedwait(&signals, NULL, &bad));
  show("sigtimedwait", sigtimedwait(&signals, NULL, &past));
}

// Arguments that are refused

static void *nowhere(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void arguments(void) {
  void *const bad = nowhere();
  struct msghdr message = {.msg_iov = bad, .msg_iovlen = 1};
  struct {
    long type;
    char text[8];
  } text = {1, "text"};
  const int client = socket(AF_UNIX, SOCK_STREAM, 0), set = semget(IPC_PRIVATE, 1, 0600);
  union {
    struct sockaddr_un address;
    char bytes[256];
  } far = {.address = {.sun_family = AF_UNIX}};
  uint32_t word = 0;
  fill();
  errno = 0;
  show("writev of -1", (int)writev(pair[0], (struct iovec *)bytes, -1));
  show("writev of 2000", (int)writev(pair[0], (struct iovec *)bytes, 2000));
  show("writev from nowhere", (int)writev(pair[0], bad, 1));
  show("readv to nowhere", (int)readv(pair[0], bad, 1));
  show("read to nowhere", (int)read(pair[0], bad, 1));
  show("sendmsg from nowhere", (int)sendmsg(pair[0], bad, 0));
  show("sendmsg of parts nowhere", (int)sendmsg(pair[0], &message, 0));
  message.msg_iovlen = 1u << 30;
  show("sendmsg of many parts", (int)sendmsg(pair[0], &message, 0));
  show("recvmsg to nowhere", (int)recvmsg(pair[0], bad, 0));
  show("connect to nowhere", connect(client, bad, sizeof far.address));
  show("connect to a long address", connect(client, (struct sockaddr *)&far, sizeof far));
  show("connect to a huge address", connect(client, (struct sockaddr *)&far, 1 << 20));
  show("fcntl lock from nowhere", fcntl(file, F_SETLK, bad));
  show("fcntl wait for a lock from nowhere", fcntl(file, F_SETLKW, bad));
  show("semop from nowhere", semop(set, bad, 1));
  show("select of nowhere", select(1, bad, NULL, NULL, NULL));
  show("poll of nowhere", poll(bad, 1, -1));
  show("epoll_wait for none", epoll_wait(poller, bad, 0, -1));
  show("msgrcv of a copy", (int)msgrcv(queue, &text, sizeof text.text, 0, 040000 /* MSG_COPY */));
  show("futex", (int)syscall(SYS_futex, &word, FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME, 0, NULL));
  show("flock of nothing", flock(file, 0));
  semctl(set, 0, IPC_RMID);
}

// What a call leaves alone

static void untouched(void) {
  siginfo_t status;
  memset(&status, 0x77, sizeof status);
  show("waitid without a child", waitid(P_ALL, 0, &status, WEXITED));
  printf("pid %x, signal %x\n", (unsigned)status.si_pid, (unsigned)status.si_signo);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  show("waitid", waitid(P_PID, (id_t)child, &status, WEXITED));
  printf("child %d, status %d, errno of it %x\n", status.si_pid == child, status.si_status, (unsigned)status.si_errno);
  unsigned rest;
  memcpy(&rest, (const char *)&status + sizeof status - sizeof rest, sizeof rest);
  printf("the rest %x\n", rest);

  // A set of one word at the end of a page: what is behind it is not the program's.
  char *const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  mprotect(pages + 4096, 4096, PROT_NONE);
  fd_set *const in = (fd_set *)(pages + 4096 - sizeof(fd_mask));
  struct timeval soon = {0, 1000};
  in->fds_bits[0] = (fd_mask)1 << ends[0];
  show("select", select(ends[0] + 1, in, NULL, NULL, &soon));
  struct timespec also = {0, 1000000};
  in->fds_bits[0] = (fd_mask)1 << ends[0];
  show("pselect", pselect(ends[0] + 1, in, NULL, NULL, &also, NULL));
}

// Locks that are refused, or had more than once

static void locks(void) {
  pthread_mutexattr_t kind;
  pthread_mutex_t checked, recursive, inheriting;
  const struct timespec past = {1, 0};
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_init(&checked, &kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(&inheriting, &kind);
  errno = 0;
  show("checked", pthread_mutex_lock(&checked));
  show("checked again", pthread_mutex_lock(&checked));
  show("checked in time", pthread_mutex_timedlock(&checked, &past));
  show("recursive", pthread_mutex_lock(&recursive));
  show("recursive again", pthread_mutex_lock(&recursive));
  show("inheriting", pthread_mutex_lock(&inheriting));
  show("inheriting again", pthread_mutex_lock(&inheriting));
  show("write", pthread_rwlock_wrlock(&rwlock));
  show("write again", pthread_rwlock_wrlock(&rwlock));
  show("read while written", pthread_rwlock_rdlock(&rwlock));
  show("read in time", pthread_rwlock_timedrdlock(&rwlock, &past));
  show("join of oneself", pthread_join(pthread_self(), NULL));
}

static const struct {
  const char *name;
  void (*run)(void);
} groups[] = {{"cancel", cancel},       {"jumps", jumps},         {"times", times},
              {"arguments", arguments}, {"untouched", untouched}, {"locks", locks}};

int main(int count, char **words) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGPIPE, SIG_IGN);
  set_up();
  for (size_t i = 0; i < COUNT(groups); ++i)
    if (count == 2 && strcmp(words[1], groups[i].name) == 0) groups[i].run();
  msgctl(queue, IPC_RMID, NULL);
  return 0;
}
