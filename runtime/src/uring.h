// io_uring: what is submitted to a ring, and waits for what it has done (async_io.h).
//
//     io_uring_setup -> rings that are known by descriptor -> mmap says where they lie -> io_uring_enter
//     liburing's calls: the ring is in its own structure (liburing_interpose.cpp)
//
// A ring is memory that the program shares with the kernel. It is only read here: what is about to be submitted, and
// the results that nobody has taken yet. Results that the program takes without a call are not seen, and need not be:
// it did not wait for them.
#ifndef VPROF_URING_H
#define VPROF_URING_H

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "async_io.h"

namespace vprof {

struct SharedRing {
  uint64_t queue;                          // its name
  const uint32_t *submitted_head, *array;  // no array: what is submitted lies in order
  uint32_t submitted_mask, submission_bytes;
  const char *submissions;
  const uint32_t *done_head, *done_tail;
  uint32_t done_mask, result_bytes;
  const char *results;
};

// They are about to be submitted: `count` from number `first` on. Returns whether one is for a file or its storage.
bool remember_submissions(const SharedRing &ring, uint32_t first, uint32_t count);

// After the call that waited, which returned `result` and set errno. errno is kept.
void finish_ring_wait(const SharedRing &ring, AsyncWait &wait, long result);

inline bool is_ring_call(long number) {
  return number == SYS_io_uring_setup || number == SYS_io_uring_enter;
}

// Makes one of these calls. REQUIRES: attached().
long ring_call(long number, long a, long b, long c, long d, long e, long f);

// Memory of `fd` has been mapped. errno is kept.
void note_mapped_ring(int fd, uint64_t offset, const void *address);

}  // namespace vprof

#endif
