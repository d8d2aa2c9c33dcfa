// Intervals of which the last ones are busy: they make more calls than a ring holds.
//   busy slow      the busy ones are by far the slowest
//   busy alike     the others take 0 or 60 s, the busy ones 30 s
// How long ago a request was created decides, not how fast the machine is: all 83 are served in some milliseconds.
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <vprof/vprof.h>

enum { kQuiet = 80, kBusy = 3 };

static volatile int sink;

__attribute__((noinline)) void step(int n) {
  for (int i = 0; i < n; i++) sink += i;
}

__attribute__((noinline)) void quiet(int n) {
  sink = n;
}

__attribute__((noinline)) void burst(int calls) {
  for (int i = 0; i < calls; i++) step(1);
  sink = calls;
}

static uint64_t seconds_ago(uint64_t seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return ((uint64_t)now.tv_sec - seconds) * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv) {
  const int alike = argc > 1 && strcmp(argv[1], "alike") == 0;
  for (uint64_t id = 1; id <= kQuiet + kBusy; id++) {
    const int is_busy = id > kQuiet;
    const uint64_t age = alike ? (is_busy ? 30 : 60 * (id % 2)) : is_busy * 60;
    vprof_interval_begin_created(id, "request", seconds_ago(age), CLOCK_REALTIME);
    if (is_busy) {
      burst(1000000);
    } else {
      quiet((int)id);
    }
    vprof_interval_end(id);
  }
  return 0;
}
