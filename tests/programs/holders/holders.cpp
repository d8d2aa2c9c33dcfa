// holders MODE: requests wait for a lock that background threads take one after the other, or several at once.
//
// Planted: all of a request's wait is held() of some holder. What a holder does before it takes the lock, rest(), is as
// long and delays nobody.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::atomic<bool> done{false};
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static std::shared_mutex shared_mutex;
static std::mutex mutex;
static sem_t permits;

__attribute__((noinline)) static void nap(long us) {
  const timespec t = {us / 1000000, us % 1000000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

struct Lock {
  void (*share)();
  void (*unshare)();
  void (*take)();
  void (*leave)();
};

static const Lock kRwlock = {[] { pthread_rwlock_rdlock(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); },
                             [] { pthread_rwlock_wrlock(&rwlock); }, [] { pthread_rwlock_unlock(&rwlock); }};
static const Lock kShared = {[] { shared_mutex.lock_shared(); }, [] { shared_mutex.unlock_shared(); },
                             [] { shared_mutex.lock(); }, [] { shared_mutex.unlock(); }};
static const Lock kMutex = {[] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.lock(); }, [] { mutex.unlock(); }};
static const Lock kPermits = {[] { sem_wait(&permits); }, [] { sem_post(&permits); }, [] { sem_wait(&permits); },
                              [] { sem_post(&permits); }};

__attribute__((noinline)) static void held(std::mt19937 &chance) {
  nap(1500 + chance() % 3000);
}

__attribute__((noinline)) static void rest(std::mt19937 &chance) {
  nap(2000 + chance() % 9000);
}

__attribute__((noinline)) static void holder(const Lock &lock, unsigned seed) {
  std::mt19937 chance(seed);
  while (!done) {
    lock.share();
    held(chance);
    lock.unshare();
    rest(chance);
  }
}

__attribute__((noinline)) static void take(const Lock &lock) {
  lock.take();
}

__attribute__((noinline)) static void request(const Lock &lock) {
  take(lock);
  lock.leave();
}

int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "";
  const Lock *lock = nullptr;
  if (strcmp(mode, "rwlock") == 0) lock = &kRwlock;
  if (strcmp(mode, "shared_mutex") == 0) lock = &kShared;
  if (strcmp(mode, "mutex") == 0) lock = &kMutex;
  if (strcmp(mode, "semaphore") == 0) lock = &kPermits;
  if (lock == nullptr) return 2;
  sem_init(&permits, 0, 2);
  std::vector<std::thread> holders;
  for (unsigned seed = 1; seed <= 3; ++seed) holders.emplace_back(holder, std::cref(*lock), seed);
  for (int i = 0; i < 600; ++i) {
    request(*lock);
    nap(200);
  }
  done = true;
  for (std::thread &thread : holders) thread.join();
  return 0;
}
