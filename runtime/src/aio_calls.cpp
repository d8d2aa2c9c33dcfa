#include "aio_calls.h"

#include <linux/aio_abi.h>
#include <poll.h>

#include "async_io.h"
#include "raw_syscall.h"

namespace vprof {

namespace {

// More of one call are not remembered: each is looked at, and their list must lie in two pages at most (is_readable).
constexpr long kMostRequests = 512;

Asked asked_by(const iocb &request) {
  const int fd = static_cast<int>(request.aio_fildes);
  switch (request.aio_lio_opcode) {
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PREADV:
      return {fd, true, false, false};
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_PWRITEV:
      return {fd, false, true, false};
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
      return {fd, false, false, true};
    case IOCB_CMD_POLL:
      return {fd, (request.aio_buf & POLLIN) != 0, (request.aio_buf & POLLOUT) != 0, false};
    default:
      return kNotKnown;
  }
}

// The result names a request by its address.
uint64_t cookie_of(const iocb *request) {
  return reinterpret_cast<uint64_t>(request);
}

long submit(long number, long context, long count, iocb **requests) {
  const auto make = [=] { return vprof_raw_syscall(number, context, count, requests); };
  if (is_restricted() || count <= 0 || count > kMostRequests ||
      !is_readable(requests, static_cast<size_t>(count) * sizeof *requests))
    return make();
  const uint64_t queue = object_id(static_cast<uint64_t>(context));
  bool for_files = false;
  for (long i = 0; i < count; ++i)
    if (is_readable(requests[i], sizeof(iocb)))
      for_files |= remember_request(queue, cookie_of(requests[i]), asked_by(*requests[i]));
  const long taken = submit_requests(for_files, make);
  const int error = errno;
  for (long i = taken > 0 ? taken : 0; i < count; ++i) forget_request(queue, cookie_of(requests[i]));
  errno = error;
  return taken;
}

}  // namespace

long aio_call(long number, long context, long b, long c, long d, long e, long f) {
  if (number == SYS_io_submit) return submit(number, context, b, reinterpret_cast<iocb **>(c));
  const auto make = [=] { return vprof_raw_syscall(number, context, b, c, d, e, f); };
  const auto *events = reinterpret_cast<const io_event *>(d);
  if (is_restricted()) return make();
  AsyncWait wait(object_id(static_cast<uint64_t>(context)));
  const long found = make();
  wait.returned();
  for (long i = 0; i < found; ++i) wait.found(events[i].obj);
  wait.finish(found, false);
  return found;
}

}  // namespace vprof
