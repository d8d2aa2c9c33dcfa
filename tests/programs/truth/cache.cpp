// Another thread scrubs memory, and takes the cache away from a scan.
// Planted: scan_index.
#include <cstring>

#include "truth.h"

static std::vector<char> g_index(3 << 20), g_scrubbed(64 << 20);
static volatile long g_sum;

NOINLINE static void scan_index(int) {
  const Cause cause;
  long sum = 0;
  for (size_t i = 0; i < g_index.size(); i += 64) sum += g_index[i];
  g_sum = sum;
}

NOINLINE static void scrub() {
  for (int k = 0; k < 3; ++k) memset(g_scrubbed.data(), k, g_scrubbed.size());
}

static void scrub_again() {
  while (!is_stopping()) {
    scrub();
    nap_us(100000);
  }
}

const Mode kCache = {"cache", [](Threads &threads) { threads.emplace_back(scrub_again); }, scan_index, nullptr,
                     nullptr};
