/* descriptor_edges SCENARIO threads|processes: as programs/edges.c, for what waits in the kernel: pipes, sockets,
 * eventfds, queues, readiness, signals, children, locks of files. Main acts when it has seen the waiter asleep. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "forced.h"
#include "vprof/vprof.h"

static int as_processes;
static atomic_int *waiter_tid;
static pthread_t waiter_thread;
static char folder[64], path[128];

/* Who waits, and on whom main acts. */

static const struct hand_off *running;

struct hand_off {
  const char *name;
  int class_number;
  void (*prepare)(void);
  void (*wait)(void);
  void (*wake)(void);
};

/* Shared, so that a forked child's number is seen. */
static void *be_waiter(void *unused) {
  (void)unused;
  *waiter_tid = self();
  running->wait();
  return NULL;
}

static void start_waiter(void) {
  if (!as_processes) {
    waiter_thread = start_as(0, be_waiter);
  } else if (fork() == 0) {
    be_waiter(NULL);
    _exit(0);
  }
  while (*waiter_tid == 0 || state_of(*waiter_tid) != 'S') pause_ms(2);
}

static void wait_until_ended(void) {
  if (as_processes) {
    int status;
    while (waitpid(*waiter_tid, &status, WNOHANG) == 0) pause_ms(1);
    require(status == 0, "the waiter failed");
  } else {
    tid_of[0] = *waiter_tid;
    join_ended(waiter_thread, 0);
  }
}

/* Pipes and eventfds */

static int ends[2], others[2];
static char data[1 << 20];

static void make_pipe(void) {
  require(pipe(ends) == 0 && pipe(others) == 0, "pipe");
  require(write(ends[1], "x", 1) == 1 && read(ends[0], data, 1) == 1, "ready: no edge");
}
static void read_one(void) {
  require(read(ends[0], data, 1) == 1, "read");
}
static void write_one(void) {
  require(write(ends[1], "x", 1) == 1, "write");
}
static void read_end(void) {
  if (as_processes) close(ends[1]);
  require(read(ends[0], data, 1) == 0, "end");
}
static void close_writer(void) {
  close(ends[1]);
}
static void fill_pipe(void) {
  make_pipe();
  require(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096 && write(ends[1], data, 4096) == 4096, "fill");
}
static void drain(void) {
  require(read(ends[0], data, 4096) == 4096, "drain");
}
static void write_more(void) {
  require(write(ends[1], data, 4097) == 4097, "a write that fills the pipe midway");
}
static void make_small_pipe(void) {
  make_pipe();
  require(fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096, "size");
}
static void make_fifo(void) {
  require(mkfifo(path, 0600) == 0, "mkfifo");
  ends[0] = open(path, O_RDWR);
}
static void read_fifo(void) {
  int mine = open(path, O_RDWR);
  require(read(mine, data, 1) == 1, "read");
}
static void write_fifo(void) {
  require(write(ends[0], "x", 1) == 1, "write");
}
static void make_event(void) {
  ends[0] = eventfd(0, 0);
  ends[1] = dup(ends[0]);
}
static void read_event(void) {
  require(read(ends[0], data, 8) == 8, "read");
}
static void write_event(void) {
  uint64_t one = 1;
  require(write(ends[1], &one, 8) == 8, "write");
}

/* Sockets */

static int listener;
static struct sockaddr_un at_path = {.sun_family = AF_UNIX};
static struct sockaddr_in at_port = {.sin_family = AF_INET};
static struct sockaddr *address;
static socklen_t address_size;

static void make_socketpair(void) {
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
}
static void receive_one(void) {
  require(recv(ends[0], data, 1, 0) == 1, "recv");
}
static void send_one(void) {
  require(send(ends[1], "x", 1, 0) == 1, "send");
}
static void receive_message(void) {
  struct iovec part = {data, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  require(recvmsg(ends[0], &message, 0) == 1, "recvmsg");
}
static void fill_socket(void) {
  make_socketpair();
  while (send(ends[1], data, 512, MSG_DONTWAIT) > 0) continue;
}
static void drain_socket(void) {
  require(recv(ends[0], data, sizeof data, 0) > 0, "recv");
}
static void receive_in_time(void) {
  struct timeval time = {0, 100000};
  setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  require(recv(ends[0], data, 1, 0) == -1 && errno == EAGAIN, "timeout");
}
static void listen_at(int family) {
  listener = socket(family, SOCK_STREAM, 0);
  require(bind(listener, address, address_size) == 0 && listen(listener, 5) == 0, "listen");
  require(getsockname(listener, address, &address_size) == 0, "getsockname");
}
static void listen_at_path(void) {
  strcpy(at_path.sun_path, path);
  address = (struct sockaddr *)&at_path;
  address_size = sizeof at_path;
  listen_at(AF_UNIX);
}
static void listen_at_port(void) {
  at_port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address = (struct sockaddr *)&at_port;
  address_size = sizeof at_port;
  listen_at(AF_INET);
}
static void accept_one(void) {
  ends[0] = accept(listener, NULL, NULL);
  require(ends[0] >= 0, "accept");
}
static void connect_one(void) {
  ends[1] = socket(address->sa_family, SOCK_STREAM, 0);
  require(connect(ends[1], address, address_size) == 0, "connect");
}
static void connect_at_path(void) {
  listen_at_path();
  connect_one();
  accept_one();
}
static void connect_at_port(void) {
  listen_at_port();
  connect_one();
  accept_one();
}

/* Queues */

static int queue;

static void make_posix_queue(void) {
  struct mq_attr one = {.mq_maxmsg = 1, .mq_msgsize = 8};
  char name[64];
  snprintf(name, sizeof name, "/vprof-test-%d", self());
  queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &one);
  require(queue >= 0 && mq_unlink(name) == 0, "mq_open");
}
static void receive_posix(void) {
  require(mq_receive(queue, data, 8, NULL) == 1, "mq_receive");
}
static void send_posix(void) {
  require(mq_send(queue, "x", 1, 0) == 0, "mq_send");
}
static void fill_posix_queue(void) {
  make_posix_queue();
  send_posix();
}
struct message {
  long type;
  char text[8];
};
static void make_system_v_queue(void) {
  queue = msgget(IPC_PRIVATE, 0600);
  require(queue >= 0, "msgget");
}
static void receive_system_v(void) {
  struct message m;
  require(msgrcv(queue, &m, sizeof m.text, 0, 0) == 1, "msgrcv");
}
static void send_system_v(void) {
  struct message m = {1, "x"};
  require(msgsnd(queue, &m, 1, 0) == 0, "msgsnd");
}

/* Readiness: two pipes, of which main writes into the first */

static int poller;

static void poll_two(void) {
  struct pollfd files[2] = {{others[0], POLLIN, 0}, {ends[0], POLLIN, 0}};
  require(poll(files, 2, -1) == 1 && files[1].revents == POLLIN, "poll");
}
static void ppoll_two(void) {
  struct pollfd files[2] = {{others[0], POLLIN, 0}, {ends[0], POLLIN, 0}};
  require(ppoll(files, 2, NULL, NULL) == 1, "ppoll");
}
/* What a program calls that is compiled with -D_FORTIFY_SOURCE. */
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
static void ppoll_checked(void) {
  struct pollfd files[2] = {{others[0], POLLIN, 0}, {ends[0], POLLIN, 0}};
  require(__ppoll_chk(files, 2, NULL, NULL, sizeof files) == 1, "__ppoll_chk");
}
static void poll_in_time(void) {
  struct pollfd file = {ends[0], POLLIN, 0};
  require(poll(&file, 1, 100) == 0, "poll");
}
static void select_two(void) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(others[0], &set);
  FD_SET(ends[0], &set);
  require(select(FD_SETSIZE, &set, NULL, NULL, NULL) == 1 && FD_ISSET(ends[0], &set), "select");
}
static void pselect_two(void) {
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  require(pselect(ends[0] + 1, &set, NULL, NULL, NULL, NULL) == 1, "pselect");
}
static void make_epoll(void) {
  make_pipe();
  poller = epoll_create1(0);
  struct epoll_event first = {.events = EPOLLIN, .data.ptr = data}, second = {.events = EPOLLIN, .data.fd = others[0]};
  require(epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &first) == 0, "epoll_ctl");
  require(epoll_ctl(poller, EPOLL_CTL_ADD, others[0], &second) == 0, "epoll_ctl");
}
static void epoll_two(void) {
  struct epoll_event found[2];
  require(epoll_wait(poller, found, 2, -1) == 1 && found[0].data.ptr == data, "epoll_wait");
}
static void do_nothing(void) {}

/* Signals */

static sigset_t users;

static void ignore(int signal) {
  (void)signal;
}
static void handle_signal(void) {
  struct sigaction action = {.sa_handler = ignore};
  sigaction(SIGUSR1, &action, NULL);
}
static void block_signal(void) {
  handle_signal();
  sigemptyset(&users);
  sigaddset(&users, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &users, NULL);
}
static void wait_paused(void) {
  pause();
}
static void suspend(void) {
  sigset_t none;
  sigemptyset(&none);
  sigsuspend(&none);
}
static void wait_for_signal(void) {
  int signal;
  require(sigwait(&users, &signal) == 0 && signal == SIGUSR1, "sigwait");
}
static void wait_for_signal_in_time(void) {
  struct timespec time = {30, 0};
  require(sigtimedwait(&users, NULL, &time) == SIGUSR1, "sigtimedwait");
}
static void make_signalfd(void) {
  block_signal();
  ends[0] = signalfd(-1, &users, 0);
}
static void read_signal(void) {
  require(read(ends[0], data, sizeof(struct signalfd_siginfo)) > 0, "signalfd");
}
static void sleep_long(void) {
  struct timespec time = {30, 0};
  require(nanosleep(&time, NULL) == -1 && errno == EINTR, "nanosleep");
}
static void poll_interrupted(void) {
  struct pollfd file = {ends[0], POLLIN, 0};
  require(poll(&file, 1, -1) == -1 && errno == EINTR, "poll");
}
static void make_pipe_and_handle(void) {
  make_pipe();
  handle_signal();
}
static void send_signal(void) {
  if (as_processes)
    kill(*waiter_tid, SIGUSR1);
  else
    pthread_kill(waiter_thread, SIGUSR1);
}
static void send_by_number(void) {
  tgkill(as_processes ? *waiter_tid : getpid(), *waiter_tid, SIGUSR1);
}
static void send_to_process(void) {
  kill(as_processes ? *waiter_tid : getpid(), SIGUSR1);
}

/* Locks of files */

static int file;
static struct flock whole;
static int range_command;

static void lock_flock(void) {
  file = open(path, O_RDWR | O_CREAT, 0600);
  require(file >= 0 && flock(file, LOCK_EX) == 0, "flock");
}
static void wait_flock(void) {
  int mine = open(path, O_RDWR);
  require(flock(mine, LOCK_SH) == 0, "flock");
}
static void unlock_flock(void) {
  flock(file, LOCK_UN);
}
static void close_file(void) {
  close(file);
}
static void lock_range(int command) {
  range_command = command;
  file = open(path, O_RDWR | O_CREAT, 0600);
  whole.l_type = F_WRLCK;
  require(file >= 0 && fcntl(file, command, &whole) == 0, "fcntl");
}
static void lock_posix(void) {
  lock_range(F_SETLKW);
}
static void lock_ofd(void) {
  lock_range(F_OFD_SETLKW);
}
static void wait_for_range(void) {
  struct flock lock = {.l_type = F_WRLCK};
  int mine = open(path, O_RDWR);
  require(fcntl(mine, range_command, &lock) == 0, "fcntl");
}
static void unlock_range(void) {
  whole.l_type = F_UNLCK;
  require(fcntl(file, range_command, &whole) == 0, "unlock");
}

static const struct hand_off hand_offs[] = {
    {"pipe", 11, make_pipe, read_one, write_one},
    {"pipe-end", 11, make_pipe, read_end, close_writer},
    {"pipe-full", 11, fill_pipe, write_one, drain},
    {"pipe-midway", 11, make_small_pipe, write_more, drain},
    {"fifo", 11, make_fifo, read_fifo, write_fifo},
    {"eventfd", 11, make_event, read_event, write_event},
    {"socketpair", 11, make_socketpair, receive_one, send_one},
    {"socketpair-read", 11, make_socketpair, read_one, write_one},
    {"socketpair-message", 11, make_socketpair, receive_message, send_one},
    {"socketpair-full", 11, fill_socket, send_one, drain_socket},
    {"socketpair-timeout", 11, make_socketpair, receive_in_time, do_nothing},
    {"unix-accept", 11, listen_at_path, accept_one, connect_one},
    {"unix", 11, connect_at_path, receive_one, send_one},
    {"tcp-accept", 11, listen_at_port, accept_one, connect_one},
    {"tcp", 11, connect_at_port, receive_one, send_one},
    {"posix-queue", 11, make_posix_queue, receive_posix, send_posix},
    {"posix-queue-full", 11, fill_posix_queue, send_posix, receive_posix},
    {"system-v-queue", 15, make_system_v_queue, receive_system_v, send_system_v},
    {"poll", 11, make_pipe, poll_two, write_one},
    {"ppoll", 11, make_pipe, ppoll_two, write_one},
    {"ppoll-checked", 11, make_pipe, ppoll_checked, write_one},
    {"poll-timeout", 11, make_pipe, poll_in_time, do_nothing},
    {"select", 11, make_pipe, select_two, write_one},
    {"pselect", 11, make_pipe, pselect_two, write_one},
    {"epoll", 11, make_epoll, epoll_two, write_one},
    {"pause", 12, handle_signal, wait_paused, send_signal},
    {"pause-tgkill", 12, handle_signal, wait_paused, send_by_number},
    {"sigsuspend", 12, block_signal, suspend, send_signal},
    {"sigwait", 12, block_signal, wait_for_signal, send_to_process},
    {"sigtimedwait", 12, block_signal, wait_for_signal_in_time, send_signal},
    {"signalfd", 12, make_signalfd, read_signal, send_to_process},
    {"nanosleep", 12, handle_signal, sleep_long, send_signal},
    {"poll-interrupted", 11, make_pipe_and_handle, poll_interrupted, send_signal},
    {"flock", 14, lock_flock, wait_flock, unlock_flock},
    {"flock-close", 14, lock_flock, wait_flock, close_file},
    {"lock-posix", 14, lock_posix, wait_for_range, unlock_range},
    {"lock-ofd", 14, lock_ofd, wait_for_range, unlock_range},
};

/* Children, whom main waits for; threads make no difference. */

static void *wait_for_end(void *unused) {
  (void)unused;
  *waiter_tid = self();
  require(wait(NULL) > 0, "wait");
  return NULL;
}

static int run_child(void (*end)(void)) {
  const int child = fork();
  if (child == 0) {
    while (*waiter_tid == 0 || state_of(*waiter_tid) != 'S') pause_ms(2);
    end();
  }
  wait_for_end(NULL);
  return child;
}
static void end_at_once(void) {
  _exit(0);
}
static void end_in_order(void) {
  exit(0);
}
static void end_quickly(void) {
  quick_exit(0);
}
static void end_killed(void) {
  raise(SIGKILL);
}

static const struct {
  const char *name;
  void (*end)(void);
} children[] = {
    {"child", end_at_once}, {"child-exit", end_in_order}, {"child-quick", end_quickly}, {"child-killed", end_killed}};

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  as_processes = strcmp(argv[2], "processes") == 0;
  waiter_tid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  strcpy(folder, "/tmp/vprof-edges-XXXXXX");
  require(mkdtemp(folder) != NULL, "mkdtemp");
  snprintf(path, sizeof path, "%s/file", folder);
  int result = 2;
  for (size_t i = 0; i < sizeof hand_offs / sizeof *hand_offs; ++i) {
    running = &hand_offs[i];
    if (strcmp(argv[1], running->name) != 0) continue;
    running->prepare();
    start_waiter();
    running->wake();
    wait_until_ended();
    expect(running->class_number, *waiter_tid, running->wake == do_nothing ? 0 : self());
    if (running->class_number == 15) msgctl(queue, IPC_RMID, NULL);
    result = 0;
  }
  for (size_t i = 0; i < sizeof children / sizeof *children; ++i) {
    if (strcmp(argv[1], children[i].name) != 0) continue;
    const int child = run_child(children[i].end);
    expect(13, self(), children[i].end == end_killed ? 0 : child);
    result = 0;
  }
  unlink(path);
  rmdir(folder);
  return result;
}
