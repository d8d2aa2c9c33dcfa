/* Requests by Linux's asynchronous I/O. With DIRECT the system calls are made by syscall(2), else by libaio. */
#include <libaio.h>
#include <sys/syscall.h>

static io_context_t context;
static const char backend[] = "aio";

struct request {
  struct iocb iocb; /* first: the result names it */
  pthread_cond_t condition;
  int done;
};

static int set_up(void) {
  return io_setup(16, &context);
}

static void prepare(struct request *request, const char *what, int file, char *data, size_t bytes, off_t place) {
  if (strcmp(what, "poll") == 0)
    io_prep_poll(&request->iocb, file, POLLIN);
  else if (strcmp(what, "read") == 0)
    io_prep_pread(&request->iocb, file, data, bytes, place);
  else
    io_prep_fsync(&request->iocb, file);
}

static long start(struct request *request) {
  struct iocb *iocb = &request->iocb;
#ifdef DIRECT
  return syscall(SYS_io_submit, context, 1l, &iocb);
#else
  return io_submit(context, 1, &iocb);
#endif
}

/* NULL: the time was over. */
static struct request *collect(struct timespec *timeout) {
  struct io_event event;
#ifdef DIRECT
  const long count = syscall(SYS_io_getevents, context, 1l, 1l, &event, timeout);
#else
  const long count = io_getevents(context, 1, 1, &event, timeout);
#endif
  if (count == 1 && (long)event.res < 0) abort();
  return count == 1 ? (struct request *)event.obj : NULL;
}
