// Requests of asynchronous I/O on their way, and waits for them.
//
//     submit: remember_request -> table -> AsyncWait: found, of each request that was over when the wait ended
//
// A wait for requests has up to two parts. Until the first of those that it found was submitted, whoever submitted it
// let the thread wait. From then on the thread waited for storage if one of them was for a file; else, as others that
// ask for readiness do, for a descriptor (readiness.h).
//
// A queue is what requests are submitted to, a cookie what names a request there: both as the kernel knows them. What
// is remembered decides what is recorded, and nothing else. A request that is not remembered (its place was taken,
// another process submitted it, nobody saw it) leaves no record of the wait that it ended. That of one that was taken
// from the queue behind our back counts as being on its way, until its cookie is used again.
//
// Thread-safety: any thread; nothing locks or allocates. REQUIRES for all: attached().
#ifndef VPROF_ASYNC_IO_H
#define VPROF_ASYNC_IO_H

#include "readiness.h"

namespace vprof {

// What a request is for. `fd` with neither side: what nobody provides. `of_file`: of a file whatever `fd` is.
struct Asked {
  int fd;
  bool reading;
  bool writing;
  bool of_file;
};

// It is about to be submitted by the calling thread. Returns whether it is for a file or its storage. errno is kept.
bool remember_request(uint64_t queue, uint64_t cookie, Asked asked);

// It was not submitted after all, or somebody has its result.
void forget_request(uint64_t queue, uint64_t cookie);

class AsyncWait {
 public:
  // Directly before the call that may wait.
  explicit AsyncWait(uint64_t queue);

  // Directly after it. errno is kept.
  void returned();

  // A request that was over when the call returned.
  void found(uint64_t cookie);

  // `result` as io_getevents returned it, with errno, which is kept.
  void finish(long result);

 private:
  void write_for_storage(uint64_t submitted, Peer submitter);

  uint64_t queue_;
  long switches_;
  ReadinessWait readiness_;
  uint64_t resumed_ = 0;
  bool waited_ = false;
  bool some_known_ = false;
  uint64_t submitted_ = ~uint64_t{0};  // the first found request for a file
  Peer submitter_ = kNobody;
};

}  // namespace vprof

#endif
