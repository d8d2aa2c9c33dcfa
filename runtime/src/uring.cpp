#include "uring.h"

#include <errno.h>
#include <poll.h>

#include "raw_syscall.h"

namespace vprof {

namespace {

constexpr uint32_t kMostRequests = 4096;  // that are looked at in one call
constexpr uint32_t kNoArray = 1u << 16;   // IORING_SETUP_NO_SQARRAY of newer headers

// With registered files the number is none of a descriptor.
Asked asked_by(const io_uring_sqe &request) {
  switch (request.opcode) {
    case IORING_OP_FSYNC:
    case IORING_OP_SYNC_FILE_RANGE:
    case IORING_OP_FALLOCATE:
    case IORING_OP_RENAMEAT:
    case IORING_OP_UNLINKAT:
      return {-1, false, false, true};
    default:
      if ((request.flags & IOSQE_FIXED_FILE) != 0) return kNotKnown;
  }
  switch (request.opcode) {
    case IORING_OP_READ:
    case IORING_OP_READV:
    case IORING_OP_READ_FIXED:
    case IORING_OP_RECV:
    case IORING_OP_RECVMSG:
    case IORING_OP_ACCEPT:
      return {request.fd, true, false, false};
    case IORING_OP_WRITE:
    case IORING_OP_WRITEV:
    case IORING_OP_WRITE_FIXED:
    case IORING_OP_SEND:
    case IORING_OP_SENDMSG:
      return {request.fd, false, true, false};
    case IORING_OP_POLL_ADD:
      return {request.fd, (request.poll_events & POLLIN) != 0, (request.poll_events & POLLOUT) != 0, false};
    default:
      return kNotKnown;
  }
}

uint32_t now(const uint32_t *shared) {
  return __atomic_load_n(shared, __ATOMIC_ACQUIRE);
}

// A ring that the program made by io_uring_setup itself: its offsets are those of io_uring_params.
struct OwnRing {
  std::atomic<int> fd;  // -1: being changed
  io_uring_params at;
  std::atomic<const char *> submission_ring, result_ring, submissions;
};

constexpr uint32_t kRings = 32;
OwnRing g_rings[kRings];
std::atomic<uint32_t> g_ring_count;  // ever made

const uint32_t *word(const char *ring, uint32_t offset) {
  return reinterpret_cast<const uint32_t *>(ring + offset);
}

OwnRing *find_ring(int fd) {
  const uint32_t count = g_ring_count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count && i < kRings; ++i)
    if (g_rings[i].fd.load(std::memory_order_acquire) == fd) return &g_rings[i];
  return nullptr;
}

// The newest of too many takes the place of the oldest.
void note_made_ring(int fd, const io_uring_params &params) {
  OwnRing *known = find_ring(fd);
  OwnRing &ring = known != nullptr ? *known : g_rings[g_ring_count.fetch_add(1, std::memory_order_acq_rel) % kRings];
  ring.fd.store(-1, std::memory_order_release);
  ring.at = params;
  ring.submission_ring.store(nullptr, std::memory_order_relaxed);
  ring.result_ring.store(nullptr, std::memory_order_relaxed);
  ring.submissions.store(nullptr, std::memory_order_relaxed);
  ring.fd.store(fd, std::memory_order_release);
}

// False if it is not known, or its memory is gone.
bool view(int fd, SharedRing *ring) {
  const OwnRing *own = find_ring(fd);
  if (own == nullptr) return false;
  const char *const to = own->submission_ring.load(std::memory_order_acquire);
  const char *const apart = own->result_ring.load(std::memory_order_acquire);
  const char *const requests = own->submissions.load(std::memory_order_acquire);
  const bool is_one = (own->at.features & IORING_FEAT_SINGLE_MMAP) != 0;
  const char *const from = apart == nullptr && is_one ? to : apart;
  if (to == nullptr || from == nullptr || requests == nullptr) return false;
  const io_sqring_offsets &sq = own->at.sq_off;
  const io_cqring_offsets &cq = own->at.cq_off;
  *ring = {object_id(to),
           word(to, sq.head),
           own->at.flags & kNoArray ? nullptr : word(to, sq.array),
           own->at.sq_entries - 1,
           own->at.flags & IORING_SETUP_SQE128 ? 128u : 64u,
           requests,
           word(from, cq.head),
           word(from, cq.tail),
           own->at.cq_entries - 1,
           own->at.flags & IORING_SETUP_CQE32 ? 32u : 16u,
           from + cq.cqes};
  return is_readable(to, sq.array + size_t{own->at.sq_entries} * sizeof(uint32_t)) &&
         is_readable(from, cq.cqes + size_t{own->at.cq_entries} * ring->result_bytes) &&
         is_readable(requests, size_t{own->at.sq_entries} * ring->submission_bytes);
}

long set_up(long entries, io_uring_params *params) {
  const long fd = vprof_raw_syscall(SYS_io_uring_setup, entries, params);
  if (fd >= 0) note_made_ring(static_cast<int>(fd), *params);
  return fd;
}

}  // namespace

// Results that were taken without a call are not seen: as many as were submitted tell of all at once. Nobody else
// submits meanwhile: the program sees to that.
bool remember_submissions(const SharedRing &ring, uint32_t first, uint32_t count) {
  if (count == 0) return false;
  if (now(ring.submitted_head) == now(ring.done_tail)) forget_requests_for_files(ring.queue);
  if (count > kMostRequests || count > ring.submitted_mask + 1) return false;
  bool for_files = false;
  for (uint32_t i = first; i != first + count; ++i) {
    const uint32_t place = ring.array != nullptr ? now(&ring.array[i & ring.submitted_mask]) : i;
    const char *const request = ring.submissions + size_t{place & ring.submitted_mask} * ring.submission_bytes;
    const auto &sqe = *reinterpret_cast<const io_uring_sqe *>(request);
    for_files |= remember_request(ring.queue, sqe.user_data, asked_by(sqe));
  }
  return for_files;
}

// A call that neither brought a result nor failed is none to tell of.
void finish_ring_wait(const SharedRing &ring, AsyncWait &wait, long result) {
  const int error = errno;
  wait.returned();
  const uint32_t from = now(ring.done_head), to = now(ring.done_tail);
  const uint32_t count = to - from <= ring.done_mask + 1 && to - from <= kMostRequests ? to - from : 0;
  for (uint32_t i = from; i != from + count; ++i) {
    const char *const done = ring.results + size_t{i & ring.done_mask} * ring.result_bytes;
    wait.found(reinterpret_cast<const io_uring_cqe *>(done)->user_data);
  }
  const bool was_late = result < 0 && error == ETIME;
  errno = error;
  wait.finish(count != 0 ? count : was_late ? 0 : result < 0 ? -1 : 1, now(ring.submitted_head) == to);
}

void note_mapped_ring(int fd, uint64_t offset, const void *address) {
  if (fd < 0 || g_ring_count.load(std::memory_order_relaxed) == 0) return;
  OwnRing *ring = find_ring(fd);
  if (ring == nullptr) return;
  const char *const place = static_cast<const char *>(address);
  if (offset == IORING_OFF_SQ_RING) ring->submission_ring.store(place, std::memory_order_release);
  if (offset == IORING_OFF_CQ_RING) ring->result_ring.store(place, std::memory_order_release);
  if (offset == IORING_OFF_SQES) ring->submissions.store(place, std::memory_order_release);
}

// What the program has put into the ring and not submitted begins at the kernel's head.
long ring_call(long number, long a, long b, long c, long d, long e, long f) {
  if (number == SYS_io_uring_setup) return set_up(a, reinterpret_cast<io_uring_params *>(b));
  const auto make = [=] { return vprof_raw_syscall(number, a, b, c, d, e, f); };
  const uint32_t to_submit = static_cast<uint32_t>(b), least = static_cast<uint32_t>(c);
  SharedRing ring;
  if (is_restricted() || (d & IORING_ENTER_REGISTERED_RING) != 0 || !view(static_cast<int>(a), &ring)) return make();
  const bool for_files = remember_submissions(ring, now(ring.submitted_head), to_submit);
  if ((d & IORING_ENTER_GETEVENTS) == 0 || least == 0) return submit_requests(for_files, make);
  AsyncWait wait(ring.queue);
  const long result = make();
  if (view(static_cast<int>(a), &ring)) finish_ring_wait(ring, wait, result);  // it may be gone by now
  return result;
}

}  // namespace vprof
