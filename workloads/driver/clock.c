#define _GNU_SOURCE
#include "clock.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <time.h>

static const int64_t slice_ns = 100 * NS_PER_MS;

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void clock_wake_precisely(void) {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

bool sleep_until_ns(int64_t deadline_ns, const atomic_bool *stop) {
  for (int64_t now = now_ns(); now < deadline_ns; now = now_ns()) {
    if (atomic_load_explicit(stop, memory_order_relaxed)) return false;
    const int64_t wake_ns = deadline_ns - now > slice_ns ? now + slice_ns : deadline_ns;
    const struct timespec wake = {.tv_sec = wake_ns / NS_PER_S, .tv_nsec = wake_ns % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
  }
  return true;
}
