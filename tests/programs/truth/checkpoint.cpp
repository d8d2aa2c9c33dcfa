// A thread that no request calls holds a request's lock while it writes.
// Planted: checkpoint_write.
#include "truth.h"

static std::mutex g_lock;

NOINLINE static void checkpoint_write() {
  nap_us(scaled(3000));
}

static void checkpoint_again() {
  while (!is_stopping()) {
    {
      std::lock_guard<std::mutex> guard(g_lock);
      checkpoint_write();
    }
    nap_us(scaled(8000));
  }
}

NOINLINE static void take_lock(int) {
  const Cause cause;
  std::lock_guard<std::mutex> guard(g_lock);
}

const Mode kCheckpoint = {"checkpoint", [](Threads &threads) { threads.emplace_back(checkpoint_again); }, take_lock,
                          nullptr, nullptr};
