// liburing (liburing.so.2): its functions that submit and that wait, where libvprof comes before it in the program's
// lookup order (LD_PRELOAD; linked, it comes behind). It makes system calls itself, past every wrapper.
//
// What it inlines into programs calls these. Those that came later are left out: a program may ask at its build whether
// there are any.
#include <dlfcn.h>
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <signal.h>

#include "interpose.h"
#include "uring.h"

namespace vprof {

namespace {

// struct io_uring of liburing.so.2, whose layout all of its versions share.
struct Submissions {
  const uint32_t *head, *tail, *mask, *entries, *flags, *dropped, *array;
  const char *requests;
  uint32_t unsubmitted_from, unsubmitted_to;
  uint64_t others[4];
};
struct Results {
  const uint32_t *head, *tail, *mask, *entries, *flags, *overflow;
  const char *results;
  uint64_t others[4];
};
struct LibraryRing {
  Submissions to;
  Results from;
  uint32_t flags;
};
static_assert(sizeof(Submissions) == 104 && sizeof(Results) == 88);

SharedRing view(const LibraryRing &r) {
  return {object_id(&r), r.to.head,   nullptr,     *r.to.mask,   r.flags & IORING_SETUP_SQE128 ? 128u : 64u,
          r.to.requests, r.from.head, r.from.tail, *r.from.mask, r.flags & IORING_SETUP_CQE32 ? 32u : 16u,
          r.from.results};
}

// Older libraries have another layout.
bool is_known_library() {
  enum { kNotYetAsked, kKnown, kOther };
  static std::atomic<int> answer;
  if (answer.load(std::memory_order_relaxed) == kNotYetAsked) {
    const bool is_known = dlvsym(RTLD_NEXT, "io_uring_submit", "LIBURING_2.0") != nullptr;
    answer.store(is_known ? kKnown : kOther, std::memory_order_relaxed);
  }
  return answer.load(std::memory_order_relaxed) == kKnown;
}

bool may_read_rings() {
  return attached() && !is_restricted() && is_known_library();
}

bool remember_unsubmitted(const LibraryRing &r) {
  return remember_submissions(view(r), r.to.unsubmitted_from, r.to.unsubmitted_to - r.to.unsubmitted_from);
}

// These functions return the error, and leave errno alone. What does not submit must not look at what is unsubmitted:
// that is another thread's.
template <typename Make>
int wait_in_library(const LibraryRing *ring, bool submits, Make make) {
  if (!may_read_rings()) return make();
  if (submits) remember_unsubmitted(*ring);
  const int saved_errno = errno;
  AsyncWait wait(object_id(ring));
  const int result = make();
  errno = result < 0 ? -result : 0;
  finish_ring_wait(view(*ring), wait, result);
  errno = saved_errno;
  return result;
}

}  // namespace

#define VPROF_LIBURING(name, parameters, arguments)                                  \
  extern "C" __attribute__((visibility("default"))) int name parameters;             \
  static int real_##name parameters {                                                \
    static LibraryFunction real = {#name, reinterpret_cast<void *>(&name), nullptr}; \
    const auto function = reinterpret_cast<int(*) parameters>(real.find());          \
    return function != nullptr ? function arguments : -ENOSYS;                       \
  }                                                                                  \
  extern "C" int name parameters

VPROF_LIBURING(io_uring_submit, (LibraryRing * ring), (ring)) {
  const auto make = [=] { return real_io_uring_submit(ring); };
  if (!may_read_rings()) return make();
  return static_cast<int>(submit_requests(remember_unsubmitted(*ring), make));
}

VPROF_LIBURING(io_uring_submit_and_wait, (LibraryRing * ring, unsigned least), (ring, least)) {
  return wait_in_library(ring, true, [=] { return real_io_uring_submit_and_wait(ring, least); });
}

VPROF_LIBURING(__io_uring_get_cqe,
               (LibraryRing * ring, io_uring_cqe **result, unsigned submit, unsigned least, sigset_t *mask),
               (ring, result, submit, least, mask)) {
  return wait_in_library(ring, submit != 0, [=] { return real___io_uring_get_cqe(ring, result, submit, least, mask); });
}

VPROF_LIBURING(io_uring_wait_cqes,
               (LibraryRing * ring, io_uring_cqe **result, unsigned least, __kernel_timespec *time, sigset_t *mask),
               (ring, result, least, time, mask)) {
  return wait_in_library(ring, false, [=] { return real_io_uring_wait_cqes(ring, result, least, time, mask); });
}

VPROF_LIBURING(io_uring_wait_cqe_timeout, (LibraryRing * ring, io_uring_cqe **result, __kernel_timespec *time),
               (ring, result, time)) {
  return wait_in_library(ring, false, [=] { return real_io_uring_wait_cqe_timeout(ring, result, time); });
}

}  // namespace vprof
