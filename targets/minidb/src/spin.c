#include "spin.h"

#include <time.h>

enum { STEPS_PER_UNIT = 600 }; /* each step waits for the one before: about five cycles */

void spin_work(unsigned units) {
  static _Thread_local volatile uint64_t sink; /* keeps the loop from being optimized away */
  uint64_t value = sink | 1;
  for (uint64_t step = 0; step < (uint64_t)units * STEPS_PER_UNIT; step++) {
    value = (value ^ (value >> 29)) * 6364136223846793005u;
  }
  sink = value;
}

int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_us(unsigned micros) {
  struct timespec time = {.tv_sec = micros / 1000000, .tv_nsec = (long)(micros % 1000000) * 1000};
  nanosleep(&time, NULL);
}
