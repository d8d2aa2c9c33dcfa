// Whatever a runtime believes about a descriptor, a call on it must do what it does without one.
//
// Each number is first used as one kind of descriptor (a belief), then becomes another by a system call that nobody can
// interpose, and then one function is called on it. What is printed (result, errno, data) must be the same with and
// without a session. Argument: the belief.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NUMBER = 40, DELAY_US = 10000, ROOM = 16 };

// A system call of the program's own, as other languages' libraries make them.
static long unseen(long number, long a, long b) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
  return result;
}

static void become(int fd) {
  unseen(SYS_dup2, fd, NUMBER);
  unseen(SYS_close, fd, 0);
}

// Pairs whose other end is kept open until the next one is made.
static int other_end = -1;

static void keep(int fd) {
  if (other_end >= 0) unseen(SYS_close, other_end, 0);
  other_end = fd;
}

static int stream(void) {
  int pair[2];
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  keep(pair[1]);
  return pair[0];
}

static int tcp(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  bind(listener, (struct sockaddr *)&address, size);
  listen(listener, 1);
  getsockname(listener, (struct sockaddr *)&address, &size);
  connect(client, (struct sockaddr *)&address, size);
  const int accepted = accept(listener, NULL, NULL);
  unseen(SYS_close, listener, 0);
  keep(client);
  return accepted;
}

static int listening(int flags) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const int listener = socket(AF_INET, SOCK_STREAM | flags, 0);
  bind(listener, (struct sockaddr *)&address, sizeof address);
  listen(listener, 1);
  return listener;
}

static int pipe_end(void) {
  int pair[2];
  if (pipe(pair) != 0) abort();
  keep(pair[1]);
  return pair[0];
}

static int file_with(const char *text) {
  const int file = memfd_create("file", 0);
  if (write(file, text, strlen(text)) < 0) abort();
  lseek(file, 0, SEEK_SET);
  return file;
}

static void send_to(int fd, const char *text) {
  if (write(fd, text, strlen(text)) < 0) abort();
}

// Beliefs: the number is used so that what it is must be known

static void use(int fd) {
  char byte;
  dup2(fd, NUMBER);
  unseen(SYS_close, fd, 0);
  send_to(other_end, "x");
  if (read(NUMBER, &byte, 1) != 1) abort();
}

static void believe_socket(void) {
  use(stream());
}

static void believe_tcp(void) {
  use(tcp());
}

static void believe_pipe(void) {
  use(pipe_end());
}

static void believe_nonblocking(void) {
  use(stream());
  fcntl(NUMBER, F_SETFL, O_NONBLOCK);
}

static void believe_listening(void) {
  const int listener = listening(SOCK_NONBLOCK);
  dup2(listener, NUMBER);
  unseen(SYS_close, listener, 0);
  accept(NUMBER, NULL, NULL);
}

static void believe_event(void) {
  const int event = eventfd(1, 0);
  uint64_t value;
  dup2(event, NUMBER);
  unseen(SYS_close, event, 0);
  if (read(NUMBER, &value, sizeof value) != sizeof value) abort();
}

static void believe_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  const int signals = signalfd(-1, &none, 0);
  dup2(signals, NUMBER);
  unseen(SYS_close, signals, 0);
}

static void believe_file(void) {
  const int file = file_with("x");
  char byte;
  dup2(file, NUMBER);
  unseen(SYS_close, file, 0);
  if (read(NUMBER, &byte, 1) != 1) abort();
}

static void believe_locked(void) {
  believe_file();
  flock(NUMBER, LOCK_EX);
}

static const struct {
  const char *name;
  void (*make)(void);
} beliefs[] = {{"socket", believe_socket},           {"tcp", believe_tcp},         {"pipe", believe_pipe},
               {"nonblocking", believe_nonblocking}, {"event", believe_event},     {"file", believe_file},
               {"listening", believe_listening},     {"signals", believe_signals}, {"locked", believe_locked}};

// What the number is then. `late` is sent to the other end a little later, by a thread.

static const char *late;

static void *send_late(void *unused) {
  usleep(DELAY_US);
  return write(other_end, late, strlen(late)) < 0 ? NULL : unused;  // nobody may read it any more
}

static void be_nothing(void) {
  unseen(SYS_close, NUMBER, 0);
}

static void be_file(void) {
  become(file_with("text of a file"));
}

static void be_folder(void) {
  become(open("/", O_RDONLY | O_DIRECTORY));
}

static void be_pipe(void) {
  become(pipe_end());
  send_to(other_end, "in the pipe");
}

static void be_slow_pipe(void) {
  become(pipe_end());
  late = "late in the pipe";
}

static void be_ended_pipe(void) {
  become(pipe_end());
  keep(-1);
}

static void be_empty_nonblocking_pipe(void) {
  const int end = pipe_end();
  fcntl(end, F_SETFL, O_NONBLOCK);
  become(end);
}

static void be_stream(void) {
  become(stream());
  send_to(other_end, "in the socket");
}

static void be_ended_stream(void) {
  become(stream());
  keep(-1);
}

static void be_slow_tcp(void) {
  become(tcp());
  late = "late by tcp";
}

// A read waits until eight bytes are there (Linux: eight more than it found).
static void be_tcp_with_low_water_mark(void) {
  const int socket = tcp(), bytes = 8;
  setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
  become(socket);
  send_to(other_end, "four");
  late = "twelve bytes";
}

static void be_stream_with_timeout(void) {
  const int socket = stream();
  const struct timeval time = {0, DELAY_US};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  become(socket);
}

static void be_empty_datagram(void) {
  int pair[2];
  socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
  keep(pair[1]);
  become(pair[0]);
  send(other_end, "", 0, 0);
}

static void be_listening(void) {
  become(listening(SOCK_NONBLOCK));
}

static void be_event(void) {
  become(eventfd(3, EFD_NONBLOCK));
}

static void be_timer(void) {
  const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  const struct itimerspec soon = {{0, 0}, {0, 1000000}};
  timerfd_settime(timer, 0, &soon, NULL);
  become(timer);
}

static void be_epoll(void) {
  become(epoll_create1(0));
}

static const struct {
  const char *name;
  void (*make)(void);
} kinds[] = {{"nothing", be_nothing},
             {"file", be_file},
             {"folder", be_folder},
             {"pipe", be_pipe},
             {"slow pipe", be_slow_pipe},
             {"ended pipe", be_ended_pipe},
             {"empty nonblocking pipe", be_empty_nonblocking_pipe},
             {"stream", be_stream},
             {"ended stream", be_ended_stream},
             {"slow tcp", be_slow_tcp},
             {"tcp with low-water mark", be_tcp_with_low_water_mark},
             {"stream with timeout", be_stream_with_timeout},
             {"empty datagram", be_empty_datagram},
             {"listening", be_listening},
             {"event", be_event},
             {"timer", be_timer},
             {"epoll", be_epoll}};

// What is called on it

static char data[ROOM + 1];

static long do_read(void) {
  return read(NUMBER, data, ROOM);
}

static long do_read_nothing(void) {
  return read(NUMBER, data, 0);
}

static long do_readv(void) {
  const struct iovec parts[2] = {{data, 3}, {data + 3, ROOM - 3}};
  return readv(NUMBER, parts, 2);
}

static long do_recv(void) {
  return recv(NUMBER, data, ROOM, 0);
}

static long do_peek(void) {
  return recv(NUMBER, data, ROOM, MSG_PEEK);
}

static long do_recv_all(void) {
  return recv(NUMBER, data, 4, MSG_WAITALL);
}

static long do_recv_now(void) {
  return recv(NUMBER, data, ROOM, MSG_DONTWAIT);
}

static long do_recvfrom(void) {
  return recvfrom(NUMBER, data, ROOM, 0, NULL, NULL);
}

static long do_recvmsg(void) {
  struct iovec part = {data, ROOM};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  return recvmsg(NUMBER, &message, 0);
}

static long do_write(void) {
  return write(NUMBER, "written!", 8);
}

static long do_writev(void) {
  const struct iovec part = {"written!", 8};
  return writev(NUMBER, &part, 1);
}

static long do_send(void) {
  return send(NUMBER, "sent", 4, MSG_NOSIGNAL);
}

static long do_accept(void) {
  const int accepted = accept(NUMBER, NULL, NULL);
  return accepted < 0 ? accepted : 0;
}

// Long enough for what comes late, also on a busy machine; short where nothing comes.
static int patience_ms(void) {
  return late != NULL ? 20000 : 2 * DELAY_US / 1000;
}

static long do_poll(void) {
  struct pollfd file = {NUMBER, POLLIN | POLLOUT, 0};
  const int ready = poll(&file, 1, patience_ms());
  snprintf(data, sizeof data, "%x", file.revents);
  return ready;
}

static long do_select(void) {
  struct timeval time = {patience_ms() / 1000, patience_ms() % 1000 * 1000};
  fd_set in;
  FD_ZERO(&in);
  FD_SET(NUMBER, &in);
  const int ready = select(NUMBER + 1, &in, NULL, NULL, &time);
  snprintf(data, sizeof data, "%d", ready >= 0 ? FD_ISSET(NUMBER, &in) != 0 : -1);
  return ready;
}

static long do_lock(void) {
  struct flock all = {.l_type = F_RDLCK};
  return fcntl(NUMBER, F_SETLKW, &all);
}

static long do_flock(void) {
  return flock(NUMBER, LOCK_EX);
}

static long do_close(void) {
  return close(NUMBER);
}

static const struct {
  const char *name;
  long (*make)(void);
} calls[] = {{"read", do_read},         {"read nothing", do_read_nothing},
             {"readv", do_readv},       {"recv", do_recv},
             {"peek", do_peek},         {"recv all", do_recv_all},
             {"recv now", do_recv_now}, {"recvfrom", do_recvfrom},
             {"recvmsg", do_recvmsg},   {"write", do_write},
             {"writev", do_writev},     {"send", do_send},
             {"accept", do_accept},     {"poll", do_poll},
             {"select", do_select},     {"fcntl lock", do_lock},
             {"flock", do_flock},       {"close", do_close}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void try_call(const char *belief, size_t kind, size_t call) {
  pthread_t sender;
  late = NULL;
  kinds[kind].make();
  const int is_late = late != NULL;
  if (is_late) pthread_create(&sender, NULL, send_late, NULL);
  memset(data, 0, sizeof data);
  errno = 0;
  const long result = calls[call].make();
  const int error = errno;
  printf("%s as %s: %s = %ld %s '", belief, kinds[kind].name, calls[call].name, result, strerrorname_np(error));
  for (long i = 0; i < ROOM; ++i) putchar(data[i] >= ' ' && data[i] <= '~' ? data[i] : '.');
  puts("'");
  if (is_late) pthread_join(sender, NULL);
  unseen(SYS_close, NUMBER, 0);
}

int main(int count, char **words) {
  signal(SIGPIPE, SIG_IGN);
  alarm(60);
  for (size_t b = 0; b < COUNT(beliefs); ++b) {
    if (count != 2 || strcmp(words[1], beliefs[b].name) != 0) continue;
    for (size_t kind = 0; kind < COUNT(kinds); ++kind)
      for (size_t call = 0; call < COUNT(calls); ++call) {
        beliefs[b].make();
        try_call(beliefs[b].name, kind, call);
      }
    return 0;
  }
  return 2;
}
