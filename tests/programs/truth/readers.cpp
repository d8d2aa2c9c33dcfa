// A request writes, and waits for readers.
// Planted: reader_scan, which three threads do under the read lock.
#include <pthread.h>

#include "truth.h"

static pthread_rwlock_t g_lock = PTHREAD_RWLOCK_INITIALIZER;

NOINLINE static void reader_scan(Random &random) {
  nap_us(scaled(500 + static_cast<long>(random() % 1000)));
}

NOINLINE static void read_again(unsigned seed) {
  Random random(seed);
  while (!is_stopping()) {
    pthread_rwlock_rdlock(&g_lock);
    reader_scan(random);
    pthread_rwlock_unlock(&g_lock);
    nap_us(scaled(8000 + static_cast<long>(random() % 8000)));
  }
}

NOINLINE static void take_write(int) {
  const Cause cause;
  pthread_rwlock_wrlock(&g_lock);
  pthread_rwlock_unlock(&g_lock);
}

const Mode kReaders = {"readers",
                       [](Threads &threads) {
                         for (unsigned i = 1; i <= 3; ++i) threads.emplace_back([i] { read_again(i); });
                       },
                       take_write, nullptr, nullptr};
