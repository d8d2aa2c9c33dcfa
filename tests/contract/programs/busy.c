// Intervals of which the last ones are busy: they make more calls than a ring holds.
//   busy slow      the busy ones are by far the slowest
//   busy alike     the others take from 0 to 60 ms, the busy ones some time in between
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <vprof/vprof.h>

enum { kQuiet = 80, kBusy = 3 };

static volatile int sink;

__attribute__((noinline)) void step(int n) {
  for (int i = 0; i < n; i++) sink += i;
}

__attribute__((noinline)) void quiet(long ms) {
  const struct timespec pause = {0, ms * 1000000};
  if (ms) nanosleep(&pause, 0);
  sink = (int)ms;
}

__attribute__((noinline)) void burst(int calls) {
  for (int i = 0; i < calls; i++) step(1);
  sink = calls;
}

int main(int argc, char **argv) {
  const int alike = argc > 1 && strcmp(argv[1], "alike") == 0;
  for (uint64_t id = 1; id <= kQuiet + kBusy; id++) {
    vprof_interval_begin(id, "request");
    if (id <= kQuiet) {
      quiet(alike ? 60 * (long)(id % 2) : 0);
    } else {
      burst(alike ? 100000 : 1000000);
    }
    vprof_interval_end(id);
  }
  return 0;
}
