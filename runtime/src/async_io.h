// Requests of asynchronous I/O on their way, and waits for them.
//
//     submit: remember_request -> table -> AsyncWait: found, of each request that was over when the wait ended
//
// A wait that ended with the result of a request for a file has up to two parts. Until the first of the queue's
// requests for files that were on their way was submitted, whoever submitted it let the thread wait. From then on it
// waited for storage, and so it does in a wait that a time ended meanwhile. Other waits are as those of who asks for
// readiness, for a descriptor (readiness.h).
//
// A queue is what requests are submitted to, a cookie what names a request there: both as the kernel knows them. What
// is remembered decides what is recorded, and nothing else. A request that is not remembered (its place was taken,
// another process submitted it, nobody saw it) leaves no record of the wait that it ended. One whose result was taken
// where nobody saw it counts as being on its way, until its cookie is used again.
//
// Thread-safety: any thread; nothing locks or allocates. REQUIRES for all: attached().
#ifndef VPROF_ASYNC_IO_H
#define VPROF_ASYNC_IO_H

#include "off_cpu.h"
#include "readiness.h"

namespace vprof {

// What a request is for. `of_file`: a file or its storage, whatever `fd` is.
struct Asked {
  int fd;
  bool reading;
  bool writing;
  bool of_file;
};
constexpr Asked kNotKnown = {-1, false, false, false};  // not remembered

// It is about to be submitted by the calling thread. Returns whether it is for a file or its storage. errno is kept.
bool remember_request(uint64_t queue, uint64_t cookie, Asked asked);

// It was not submitted after all, or somebody has its result.
void forget_request(uint64_t queue, uint64_t cookie);

// None that is for a file is on its way.
void forget_requests_for_files(uint64_t queue);

// Around the call that submits, which may sleep itself.
template <typename Make>
long submit_requests(bool for_files, Make make) {
  look_before_call();
  if (for_files) recount();
  const long result = make();
  look_after_call(for_files ? kOffStorage : 0);
  return result;
}

class AsyncWait {
 public:
  // Directly before the call that may wait.
  explicit AsyncWait(uint64_t queue);

  // Directly after it. errno is kept.
  void returned();

  // A request that was over when the call returned.
  void found(uint64_t cookie);

  // `result` as io_getevents returned it, with errno, which is kept. `none_left`: nothing is on its way.
  void finish(long result, bool none_left);

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  void write_for_storage();

  uint64_t queue_;
  long switches_;
  ReadinessWait readiness_;
  uint64_t resumed_ = 0;
  bool waited_ = false;
  bool some_known_ = false;
  bool file_known_ = false;
  uint64_t submitted_ = kNever;  // since when there were requests for files
  Peer submitter_ = kNobody;
};

}  // namespace vprof

#endif
