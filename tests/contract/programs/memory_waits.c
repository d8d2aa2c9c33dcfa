/* memory_waits KIND: requests that sleep in a library, while another thread has the lock of the process's memory map
 * ("map", "send"), or does not read ("full"), or for a time that nobody sees, in code that has pages mapped ("unseen").
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "memory_library.h"
#include "vprof/vprof.h"

enum { REQUESTS = 20, REQUEST_NS = 20000000, SLEEPS = 3, PAGE = 4096, FRESH_PAGES = 1 << 18 };
static const size_t kLarge = 64 << 20, kPopulated = 8 << 20; /* either takes the kernel more than a millisecond */

static int ends[2];
static char *fresh; /* pages that nobody has touched */
static int touched;
static char *large;
static atomic_int is_over;

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long sleeps(void) {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

static char *next_page(void) {
  if (touched == FRESH_PAGES) exit(3);
  return fresh + (size_t)PAGE * (size_t)touched++;
}

/* All pages are the zero page: nothing but page tables. */
static char *reserve(size_t size) {
  char *found = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED || madvise(found, size, MADV_NOHUGEPAGE) != 0) exit(3);
  return found;
}

/* Has the lock as a reader most of the time: who maps has to wait. */
static void *populate(void *unused) {
  for (; !is_over; usleep(100))
    if (madvise(large, kPopulated, MADV_DONTNEED) != 0 || madvise(large, kPopulated, MADV_POPULATE_READ) != 0) exit(3);
  return unused;
}

/* Has the lock alone most of the time: who has a page mapped has to wait. */
static void *protect(void *unused) {
  for (int i = 0; !is_over; ++i, usleep(100))
    if (mprotect(large, kLarge, i % 2 ? PROT_READ : PROT_NONE) != 0) exit(3);
  return unused;
}

static void *read_slowly(void *unused) {
  static char data[1 << 20];
  while (read(ends[0], data, sizeof data) > 0) usleep(5000);
  return unused;
}

static void *nothing(void *unused) {
  return unused;
}

static void drain(void) {
  static char data[1 << 16];
  while (recv(ends[0], data, sizeof data, MSG_DONTWAIT) > 0) continue;
}

static void map(void) {
  map_and_unmap();
}

static void send_fresh(void) {
  if (send_part(ends[1], next_page(), PAGE) < 0) exit(3);
  drain();
}

static void fill(void) {
  static char data[1 << 16];
  if (send_part(ends[1], data, sizeof data) < 0) exit(3);
}

static void unseen(void) {
  *(volatile char *)next_page();
  sleep_unseen(2000000);
}

static void open_ends(const char *kind) {
  if (strcmp(kind, "full") == 0 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends)) exit(3);
}

__attribute__((noinline)) static void serve(void (*once)(void)) {
  const long long until = now_ns() + REQUEST_NS;
  const long enough = sleeps() + SLEEPS;
  do once();
  while (now_ns() < until || sleeps() < enough);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void *(*other)(void *);
    void (*once)(void);
  } kinds[] = {
      {"map", populate, map}, {"send", protect, send_fresh}, {"full", read_slowly, fill}, {"unseen", nothing, unseen}};
  size_t k = 0;
  while (k < sizeof kinds / sizeof *kinds && (argc != 2 || strcmp(argv[1], kinds[k].name) != 0)) ++k;
  if (k == sizeof kinds / sizeof *kinds) return 2;
  open_ends(kinds[k].name);
  fresh = reserve((size_t)FRESH_PAGES * PAGE);
  large = reserve(kLarge);
  if (strcmp(kinds[k].name, "send") == 0 && madvise(large, kLarge, MADV_POPULATE_READ) != 0) return 3;
  pthread_t other;
  pthread_create(&other, NULL, kinds[k].other, NULL);
  for (int i = 1; i <= REQUESTS; ++i) {
    vprof_interval_begin((uint64_t)i, NULL);
    serve(kinds[k].once);
    vprof_interval_end((uint64_t)i);
  }
  is_over = 1;
  close(ends[1]);
  pthread_join(other, NULL);
  return 0;
}
