// A convoy of three threads: requests wait for A, whose owner waits for B, whose owner compacts.
// Planted: compact.
#include "truth.h"

static std::mutex g_a, g_b;

NOINLINE static void compact() {
  nap_us(scaled(2000));
}

static void compact_again() {
  Random random(3);
  while (!is_stopping()) {
    {
      std::lock_guard<std::mutex> guard(g_b);
      compact();
    }
    nap_us(scaled(4000 + static_cast<long>(random() % 4000)));
  }
}

NOINLINE static void sync_catalog() {
  std::lock_guard<std::mutex> guard(g_b);
  burn_us(20);
}

static void sync_again() {
  while (!is_stopping()) {
    {
      std::lock_guard<std::mutex> guard(g_a);
      sync_catalog();
      burn_us(20);
    }
    nap_us(1500);
  }
}

NOINLINE static void take_a(int) {
  const Cause cause;
  std::lock_guard<std::mutex> guard(g_a);
}

const Mode kConvoy = {"convoy",
                      [](Threads &threads) {
                        threads.emplace_back(sync_again);
                        threads.emplace_back(compact_again);
                      },
                      take_a, nullptr, nullptr};
