// A thread that runs only when its CPU is idle holds a request's lock, and another takes that CPU away.
// Planted: low_update, which waits for the CPU that `hog` has.
#include <sched.h>

#include "truth.h"

static std::mutex g_lock;

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

NOINLINE static void low_update() {
  burn_us(300);
}

static void update_again() {
  pin(0);
  const sched_param none = {};
  sched_setscheduler(0, SCHED_IDLE, &none);
  while (!is_stopping()) {
    {
      std::lock_guard<std::mutex> guard(g_lock);
      low_update();
    }
    nap_us(1000);
  }
}

NOINLINE static void hog() {
  burn_us(15000);
}

static void hog_again() {
  pin(0);
  while (!is_stopping()) {
    hog();
    nap_us(25000);
  }
}

NOINLINE static void take_shared_lock(int request) {
  if (request == 0) pin(1);
  const Cause cause;
  std::lock_guard<std::mutex> guard(g_lock);
}

const Mode kInversion = {"inversion",
                         [](Threads &threads) {
                           threads.emplace_back(update_again);
                           threads.emplace_back(hog_again);
                         },
                         take_shared_lock, nullptr, nullptr};
