// A rare branch calls the same helper as what is constant.
// Planted: slow_decode, for one request in 40.
#include "truth.h"

NOINLINE static void slow_decode() {
  const Cause cause;
  burn_us(static_cast<double>(scaled(500)));
}

NOINLINE static void decode(int request) {
  burn_us(50);
  if ((static_cast<unsigned>(request) * 2654435761u >> 7) % 40 == 0) slow_decode();
}

const Mode kBranch = {"branch", nullptr, decode, nullptr, nullptr};
