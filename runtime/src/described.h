// The waits and the release that the program itself has announced and not yet ended (vprof/vprof.h).
#ifndef VPROF_DESCRIBED_H
#define VPROF_DESCRIBED_H

#include "sync.h"

namespace vprof {

// Waits of one thread nest when a primitive is built of others. Beyond this many the outermost is given up: most likely
// its function was left by longjmp, without an end.
constexpr uint32_t kMaxNestedWaits = 4;

struct Described {
  Wait waits[kMaxNestedWaits];
  uint32_t count;
  Release release;  // in progress, between wake and wake_done
};

extern __thread Described t_described __attribute__((tls_model("initial-exec")));

}  // namespace vprof

#endif
