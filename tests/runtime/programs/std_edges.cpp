// std_edges SCENARIO: as programs/edges.c, for what the C++ standard library makes of pthread's primitives and futexes.
#include <barrier>
#include <condition_variable>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <thread>

#include "forced.h"

namespace {

constexpr int kMutex = 1, kCondition = 2, kJoin = 4, kReadWriteLock = 6, kOnce = 9, kFutex = 10;

std::atomic<int> flag;

// Joins without waiting in it.
void join_when_ended(std::thread &thread, int i) {
  while (state_of(wait_for_tid(i)) != 0) pause_ms(1);
  thread.join();
}

// Thread 0 does `wait`; main does `release` when it sleeps there.
template <typename Wait, typename Release>
void force(int class_number, Wait wait, Release release) {
  std::thread waiter([&] {
    enter_thread(0);
    wait();
  });
  wait_until_asleep(0);
  release();
  join_when_ended(waiter, 0);
  expect(class_number, tid_of[0], self());
}

template <typename Mutex>
void exclusive(int class_number) {
  Mutex mutex;
  mutex.lock();
  force(class_number, [&] { std::lock_guard guard(mutex); }, [&] { mutex.unlock(); });
}

void mutex() {
  exclusive<std::mutex>(kMutex);
}
void recursive_mutex() {
  exclusive<std::recursive_mutex>(kMutex);
}
void timed_mutex() {
  std::timed_mutex mutex;
  mutex.lock();
  force(kMutex, [&] { require(mutex.try_lock_for(std::chrono::hours(1)), "try_lock_for"); }, [&] { mutex.unlock(); });
}
void shared_mutex_writer() {
  exclusive<std::shared_mutex>(kReadWriteLock);
}
void shared_mutex_reader() {
  std::shared_mutex mutex;
  mutex.lock();
  force(kReadWriteLock, [&] { std::shared_lock guard(mutex); }, [&] { mutex.unlock(); });
}
void shared_mutex_last_reader() {
  std::shared_mutex mutex;
  mutex.lock_shared();
  force(kReadWriteLock, [&] { std::lock_guard guard(mutex); }, [&] { mutex.unlock_shared(); });
}

template <typename Condition>
void condition() {
  std::mutex mutex;
  Condition condition;
  const auto wait = [&] {
    std::unique_lock lock(mutex);
    condition.wait(lock, [] { return flag != 0; });
  };
  const auto signal = [&] {
    flag = 1;
    condition.notify_one();
  };
  force(kCondition, wait, signal);
}

void condition_variable() {
  condition<std::condition_variable>();
}
void condition_variable_any() {
  condition<std::condition_variable_any>();
  allow(kMutex, tid_of[0], self());  // notify_one() holds a mutex, which the waiter takes: it may find it so
}

void counting_semaphore() {
  std::counting_semaphore<> semaphore(0);
  force(kFutex, [&] { semaphore.acquire(); }, [&] { semaphore.release(); });
}

void latch() {
  std::latch latch(1);
  force(kFutex, [&] { latch.wait(); }, [&] { latch.count_down(); });
}

void barrier() {
  std::barrier<> barrier(2);
  force(kFutex, [&] { barrier.arrive_and_wait(); }, [&] { barrier.arrive_and_wait(); });
}

void atomic_wait() {
  force(
      kFutex, [] { flag.wait(0); },
      [] {
        flag = 1;
        flag.notify_one();
      });
}

void future() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  force(kFutex, [&] { require(future.get() == 7, "future"); }, [&] { promise.set_value(7); });
}

// The first of two threads initialises until the second waits for it.
void call_once() {
  std::once_flag once;
  const auto initialise = [&](int i) {
    enter_thread(i);
    std::call_once(once, [] {
      flag = 1;
      wait_until_asleep(1);
    });
  };
  std::thread first(initialise, 0);
  while (flag == 0) sched_yield();
  std::thread second(initialise, 1);
  join_when_ended(first, 0);
  join_when_ended(second, 1);
  expect(kOnce, tid_of[1], tid_of[0]);
}

// A thread waits for the end of another in the destructor of its jthread.
void jthread() {
  std::thread waiter([] {
    enter_thread(1);
    std::jthread inner([] {
      enter_thread(0);
      wait_until_asleep(1);
    });
  });
  join_when_ended(waiter, 1);
  expect(kJoin, tid_of[1], tid_of[0]);
}

const scenario scenarios[] = {{"mutex", mutex},
                              {"recursive-mutex", recursive_mutex},
                              {"timed-mutex", timed_mutex},
                              {"shared-mutex-writer", shared_mutex_writer},
                              {"shared-mutex-reader", shared_mutex_reader},
                              {"shared-mutex-last-reader", shared_mutex_last_reader},
                              {"condition-variable", condition_variable},
                              {"condition-variable-any", condition_variable_any},
                              {"counting-semaphore", counting_semaphore},
                              {"latch", latch},
                              {"barrier", barrier},
                              {"atomic-wait", atomic_wait},
                              {"future", future},
                              {"call-once", call_once},
                              {"jthread", jthread}};

}  // namespace

int main(int argc, char **argv) {
  return run_scenario(scenarios, std::size(scenarios), argc, argv);
}
