/* Requests by io_uring, by liburing: one thread takes results, any submits. */
#include <liburing.h>

static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;
static struct io_uring ring;
static const char backend[] = "liburing";

struct request {
  struct io_uring_sqe entry;
  pthread_cond_t condition;
  int done;
};

static int set_up(void) {
  return io_uring_queue_init(16, &ring, 0);
}

static void prepare(struct request *request, const char *what, int file, char *data, size_t bytes, off_t place) {
  if (strcmp(what, "poll") == 0)
    io_uring_prep_poll_add(&request->entry, file, POLLIN);
  else if (strcmp(what, "read") == 0)
    io_uring_prep_read(&request->entry, file, data, (unsigned)bytes, (uint64_t)place);
  else
    io_uring_prep_fsync(&request->entry, file, 0);
  io_uring_sqe_set_data(&request->entry, request);
}

static long start(struct request *request) {
  pthread_mutex_lock(&submitting);
  *io_uring_get_sqe(&ring) = request->entry;
  const int taken = io_uring_submit(&ring);
  pthread_mutex_unlock(&submitting);
  return taken;
}

/* NULL: the time was over. */
static struct request *collect(struct timespec *timeout) {
  struct __kernel_timespec time = {0, timeout != NULL ? timeout->tv_nsec : 0};
  struct io_uring_cqe *result;
  const int error =
      timeout == NULL ? io_uring_wait_cqe(&ring, &result) : io_uring_wait_cqe_timeout(&ring, &result, &time);
  if (error != 0) return NULL;
  struct request *request = io_uring_cqe_get_data(result);
  if (result->res < 0) abort();
  io_uring_cqe_seen(&ring, result);
  return request;
}
