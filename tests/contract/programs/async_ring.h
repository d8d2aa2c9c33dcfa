/* Requests by io_uring, by its system calls: one thread takes results, any submits. */
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;
static int ring;
static struct io_uring_params params;
static char *rings;
static struct io_uring_sqe *entries;
static const char backend[] = "ring";

struct request {
  struct io_uring_sqe entry;
  pthread_cond_t condition;
  int done;
};

static _Atomic unsigned *word(unsigned offset) {
  return (_Atomic unsigned *)(rings + offset);
}

static int set_up(void) {
  ring = (int)syscall(SYS_io_uring_setup, 16l, &params);
  if (ring < 0) return -1;
  if (!(params.features & IORING_FEAT_SINGLE_MMAP) || !(params.features & IORING_FEAT_EXT_ARG)) return -1;
  const size_t bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  const size_t list = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  const int both = PROT_READ | PROT_WRITE;
  rings = mmap(NULL, bytes > list ? bytes : list, both, MAP_SHARED, ring, (off_t)IORING_OFF_SQ_RING);
  entries = mmap(NULL, params.sq_entries * sizeof *entries, both, MAP_SHARED, ring, (off_t)IORING_OFF_SQES);
  return rings != MAP_FAILED && entries != MAP_FAILED ? 0 : -1;
}

static void prepare(struct request *request, const char *what, int file, char *data, size_t bytes, off_t place) {
  struct io_uring_sqe *entry = &request->entry;
  memset(entry, 0, sizeof *entry);
  entry->fd = file;
  entry->user_data = (uint64_t)request;
  entry->opcode = IORING_OP_FSYNC;
  if (strcmp(what, "poll") == 0) {
    entry->opcode = IORING_OP_POLL_ADD;
    entry->poll32_events = POLLIN;
  } else if (strcmp(what, "read") == 0) {
    entry->opcode = IORING_OP_READ;
    entry->addr = (uint64_t)data;
    entry->len = (unsigned)bytes;
    entry->off = (uint64_t)place;
  }
}

static long start(struct request *request) {
  pthread_mutex_lock(&submitting);
  const unsigned tail = atomic_load(word(params.sq_off.tail)), place = tail & (params.sq_entries - 1);
  entries[place] = request->entry;
  *word(params.sq_off.array + place * sizeof(unsigned)) = place;
  atomic_store(word(params.sq_off.tail), tail + 1);
  const long taken = syscall(SYS_io_uring_enter, ring, 1l, 0l, 0l, NULL, 0l);
  pthread_mutex_unlock(&submitting);
  return taken;
}

/* NULL: the time was over. */
static struct request *collect(struct timespec *timeout) {
  const unsigned head = atomic_load(word(params.cq_off.head));
  if (head == atomic_load(word(params.cq_off.tail))) {
    const struct __kernel_timespec time = {0, timeout != NULL ? timeout->tv_nsec : 0};
    const struct io_uring_getevents_arg argument = {.ts = timeout != NULL ? (uint64_t)&time : 0};
    const long flags = IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG;
    syscall(SYS_io_uring_enter, ring, 0l, 1l, flags, &argument, (long)sizeof argument);
    if (head == atomic_load(word(params.cq_off.tail))) return NULL;
  }
  const struct io_uring_cqe *results = (struct io_uring_cqe *)(rings + params.cq_off.cqes);
  const struct io_uring_cqe result = results[head & (params.cq_entries - 1)];
  atomic_store(word(params.cq_off.head), head + 1);
  if (result.res < 0) abort();
  return (struct request *)result.user_data;
}
