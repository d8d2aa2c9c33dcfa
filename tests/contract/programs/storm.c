// More calls than a small ring holds before it is drained.
#include <stdint.h>
#include <vprof/vprof.h>

static volatile int sink;

__attribute__((noinline)) void leaf(int n) {
  for (int i = 0; i < n; i++) {
    sink += i;
  }
}

__attribute__((noinline)) void call(int n) {
  leaf(n);
  sink = n;
}

int main(void) {
  for (uint64_t id = 1; id <= 20; id++) {
    vprof_interval_begin(id, "storm");
    for (int i = 0; i < 100000; i++) call(1);
    vprof_interval_end(id);
  }
  return 0;
}
