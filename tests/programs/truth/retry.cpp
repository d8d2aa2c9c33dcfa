// One request in 30 sleeps before it tries again.
// Planted: back_off.
#include "truth.h"

NOINLINE static void back_off() {
  const Cause cause;
  nap_us(scaled(2500));
}

NOINLINE static void try_again(int) {
  if (random_of_request()() % 30 == 0) back_off();
  burn_us(20);
}

const Mode kRetry = {"retry", nullptr, try_again, nullptr, nullptr};
