/* Asynchronous I/O as programs may call it: what the kernel refuses, what is taken in part, waits that a signal, a time
   or the end of the queue ends, rings whose memory or number is another's. By system calls. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char page[4096];
static int file;
static aio_context_t context;
static struct io_event events[8];

static void show(const char *what, long result) {
  printf("%s: %ld %s\n", what, result, strerrorname_np(errno));
  errno = 0;
}

static void *nowhere(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static struct iocb request(int opcode, int fd) {
  struct iocb made;
  memset(&made, 0, sizeof made);
  made.aio_lio_opcode = (uint16_t)opcode;
  made.aio_fildes = (uint32_t)fd;
  made.aio_buf = (uint64_t)page;
  made.aio_nbytes = sizeof page;
  return made;
}

static long submit(long count, void *requests) {
  return syscall(SYS_io_submit, context, count, requests);
}

static long collect(long least, long most, void *to, struct timespec *time) {
  return syscall(SYS_io_getevents, context, least, most, to, time);
}

static void on_signal(int number) {
  (void)number;
}

static void signal_soon(void) {
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  const struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
}

static void *destroy(void *unused) {
  usleep(20000);
  show("io_destroy meanwhile", syscall(SYS_io_destroy, context));
  return unused;
}

static void refused_requests(void) {
  void *const bad = nowhere();
  struct iocb good = request(IOCB_CMD_PREAD, file), closed = request(IOCB_CMD_PREAD, 999), odd = request(99, file);
  struct iocb *many[] = {&good, bad, NULL};
  show("submit none", submit(0, many));
  show("submit -1", submit(-1, many));
  show("submit from nowhere", submit(1, bad));
  show("submit from null", submit(1, NULL));
  show("submit a request nowhere", submit(1, many + 1));
  show("submit a request at null", submit(1, many + 2));
  show("submit one that is there", submit(3, many));
  show("its result", collect(1, 8, events, NULL));
  printf("%d %lld\n", events[0].obj == (uint64_t)&good, (long long)events[0].res);
  many[0] = &closed;
  show("submit of a closed file", submit(1, many));
  many[0] = &odd;
  show("submit of an odd request", submit(1, many));
}

static void refused_waits(void) {
  struct timespec past = {0, 0}, soon = {0, 1000000};
  struct iocb good = request(IOCB_CMD_PWRITE, file), *one = &good;
  show("collect to nowhere", collect(0, 8, nowhere(), NULL));
  show("collect more than asked for", collect(9, 8, events, NULL));
  show("collect -1", collect(-1, 8, events, NULL));
  show("collect by a time nowhere", collect(1, 8, events, nowhere()));
  show("collect at once", collect(1, 8, events, &past));
  show("collect soon", collect(1, 8, events, &soon));
  show("submit", submit(1, &one));
  show("collect one of 2", collect(2, 8, events, &soon));
  show("submit", submit(1, &one));
  show("collect a result to nowhere", collect(1, 1, nowhere(), NULL));
  show("collect it", collect(1, 8, events, NULL));
  signal_soon();
  show("collect until a signal", collect(8, 8, events, NULL));
  show("of no queue", syscall(SYS_io_getevents, 1l, 1l, 8l, events, NULL));
  pthread_t other;
  pthread_create(&other, NULL, destroy, NULL);
  show("collect until the end", collect(8, 8, events, NULL) < 0 ? -1 : 0);
  pthread_join(other, NULL);
}

struct ring {
  int fd;
  struct io_uring_params at;
  char *rings;
  struct io_uring_sqe *entries;
  size_t bytes;
};

static struct ring made_ring(void) {
  struct ring ring;
  memset(&ring, 0, sizeof ring);
  ring.fd = (int)syscall(SYS_io_uring_setup, 4l, &ring.at);
  ring.bytes = ring.at.cq_off.cqes + ring.at.cq_entries * sizeof(struct io_uring_cqe) + 4096;
  const int both = PROT_READ | PROT_WRITE;
  ring.rings = mmap(NULL, ring.bytes, both, MAP_SHARED, ring.fd, (off_t)IORING_OFF_SQ_RING);
  ring.entries = mmap(NULL, 4 * sizeof *ring.entries, both, MAP_SHARED, ring.fd, (off_t)IORING_OFF_SQES);
  return ring;
}

static unsigned *word(const struct ring *ring, unsigned offset) {
  return (unsigned *)(ring->rings + offset);
}

static void ask(const struct ring *ring) {
  const unsigned tail = *word(ring, ring->at.sq_off.tail);
  struct io_uring_sqe *entry = &ring->entries[tail & 3];
  memset(entry, 0, sizeof *entry);
  entry->opcode = IORING_OP_FSYNC;
  entry->fd = file;
  entry->user_data = 7;
  *word(ring, ring->at.sq_off.array + (tail & 3) * (unsigned)sizeof(unsigned)) = tail & 3;
  __atomic_store_n(word(ring, ring->at.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
}

static long enter(int fd, long count, long least, long flags) {
  return syscall(SYS_io_uring_enter, fd, count, least, flags, NULL, 0l);
}

static void *unmap(void *of) {
  const struct ring *ring = of;
  usleep(20000);
  syscall(SYS_munmap, ring->rings, ring->bytes);
  kill(getpid(), SIGALRM);
  return of;
}

static void rings(void) {
  struct ring ring = made_ring();
  if (ring.fd < 0) {
    puts("no io_uring here");
    return;
  }
  show("set up nowhere", syscall(SYS_io_uring_setup, 4l, nowhere()));
  show("set up none", syscall(SYS_io_uring_setup, 0l, &ring.at));
  show("enter no ring", enter(file, 1, 0, 0));
  show("enter a closed one", enter(999, 1, 1, IORING_ENTER_GETEVENTS));
  show("enter with odd flags", enter(ring.fd, 0, 0, 1 << 30));
  show("enter with nothing", enter(ring.fd, 5000, 0, 0));
  ask(&ring);
  show("enter", enter(ring.fd, 1, 1, IORING_ENTER_GETEVENTS));
  printf("%u\n", *word(&ring, ring.at.cq_off.tail));
  signal_soon();
  show("enter until a signal", enter(ring.fd, 0, 4, IORING_ENTER_GETEVENTS));
  ask(&ring);
  pthread_t other;
  pthread_create(&other, NULL, unmap, &ring);
  show("enter, and its memory goes meanwhile", enter(ring.fd, 1, 8, IORING_ENTER_GETEVENTS));
  pthread_join(other, NULL);
  show("enter without its memory", enter(ring.fd, 1, 1, IORING_ENTER_GETEVENTS));
  syscall(SYS_munmap, ring.entries, (long)(4 * sizeof *ring.entries));
  show("enter without any", enter(ring.fd, 0, 1, IORING_ENTER_GETEVENTS));
  syscall(SYS_close, ring.fd);
  const int pipe_there = dup2(file, ring.fd);
  show("enter what is a file now", enter(pipe_there, 1, 1, IORING_ENTER_GETEVENTS));
  close(pipe_there);
  const struct ring again = made_ring();
  printf("%d\n", again.fd == ring.fd);
  ask(&again);
  show("enter another", enter(again.fd, 1, 1, IORING_ENTER_GETEVENTS));
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  char name[] = "/tmp/asyncXXXXXX";
  file = mkstemp(name);
  unlink(name);
  if (file < 0 || write(file, page, sizeof page) != sizeof page) return 1;
  errno = 0;
  show("set up", syscall(SYS_io_setup, 8l, &context));
  refused_requests();
  refused_waits();
  rings();
  return 0;
}
