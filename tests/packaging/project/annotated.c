/* Thirty intervals by vprof.h, without vprof-cc. */
#include <stdlib.h>
#include <vprof/vprof.h>

int main(void) {
  for (uint64_t id = 1; id <= 30; id++) {
    vprof_interval_begin(id, "request");
    free(malloc(id));
    vprof_interval_end(id);
  }
  return 0;
}
