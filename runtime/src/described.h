// What the program itself says of its waits (vprof/vprof.h): those and the release that it has announced and not yet
// ended, and which of its waits have no name yet.
#ifndef VPROF_DESCRIBED_H
#define VPROF_DESCRIBED_H

#include "named_waits.h"
#include "sync.h"

namespace vprof {

// Waits of one thread nest when a primitive is built of others. Beyond this many the outermost is given up: most likely
// its function was left by longjmp, without an end.
constexpr uint32_t kMaxNestedWaits = 4;

struct Described {
  Wait waits[kMaxNestedWaits];
  uint32_t count;
  Release release;  // in progress, between wake and wake_done
  NamedWaits named;
};

extern __thread Described t_described __attribute__((tls_model("initial-exec")));

}  // namespace vprof

#endif
