// The waits of a thread that the program has not named yet (TRACE_FORMAT.md section 2.9, vprof/vprof.h).
//
//     before = waits(); the call that may wait -> write_blocked -> note;  unnamed_since(before)? -> name(before)
//
// A name is asked for only if a wait was written meanwhile, and costs a wait one store. Names of outer calls are for
// what inner calls have not named. Only the kKept latest waits are known: of a call that waits more often those get
// the name. Not thread-safe: each flow of control has its own (described.h).
#ifndef VPROF_NAMED_WAITS_H
#define VPROF_NAMED_WAITS_H

#include <algorithm>
#include <cstdint>

namespace vprof {

class NamedWaits {
 public:
  static constexpr uint64_t kKept = 8;

  // How many waits were written so far.
  uint64_t written() const { return written_; }

  // A wait was written that began then.
  void note(uint64_t began) { began_[written_++ % kKept] = began; }

  // When the earliest began of those that were written after the first `before` and have no name; 0: there is none.
  uint64_t unnamed_since(uint64_t before) const {
    uint64_t since = 0;
    for (uint64_t i = first_kept(before); i < written_; ++i) {
      const uint64_t began = began_[i % kKept];
      if (began != 0 && (since == 0 || began < since)) since = began;
    }
    return since;
  }

  // They have one now.
  void name(uint64_t before) {
    for (uint64_t i = first_kept(before); i < written_; ++i) began_[i % kKept] = 0;
  }

 private:
  uint64_t first_kept(uint64_t before) const {
    const uint64_t first = written_ > kKept ? written_ - kKept : 0;
    return std::max(first, std::min(before, written_));
  }

  uint64_t written_;
  uint64_t began_[kKept];  // of the i-th at i modulo kKept; 0: it has a name
};

}  // namespace vprof

#endif
