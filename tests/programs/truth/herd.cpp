// Six threads are woken at once, and each works under the lock that a request wants next.
// Planted: keep_books.
#include <chrono>
#include <condition_variable>

#include "truth.h"

static std::mutex g_mutex;
static std::condition_variable g_changed;
static long g_generation;

NOINLINE static void keep_books() {
  burn_us(static_cast<double>(scaled(50)));
}

static void wait_and_keep() {
  long seen = 0;
  while (!is_stopping()) {
    std::unique_lock<std::mutex> lock(g_mutex);
    g_changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return g_generation > seen || is_stopping(); });
    if (g_generation > seen) keep_books();
    seen = g_generation;
  }
}

NOINLINE static void wake_herd(int) {
  if (random_of_request()() % 40 == 0) {
    {
      std::lock_guard<std::mutex> guard(g_mutex);
      ++g_generation;
    }
    g_changed.notify_all();
    nap_us(50);
  }
  const Cause cause;
  std::lock_guard<std::mutex> guard(g_mutex);
}

const Mode kHerd = {"herd",
                    [](Threads &threads) {
                      for (int i = 0; i < 6; ++i) threads.emplace_back(wait_and_keep);
                    },
                    wake_herd, nullptr, nullptr};
