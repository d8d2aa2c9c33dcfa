// Nothing is planted.
#include "truth.h"

NOINLINE static void work(int) {
  burn_us(100);
}

const Mode kControl = {"control", nullptr, work, nullptr, nullptr};
