// Short intervals for as long as the file named on the command line exists, a few minutes at most.
#include <stdint.h>
#include <unistd.h>
#include <vprof/vprof.h>

__attribute__((noinline)) void inner(void) {
  usleep(200);
}

__attribute__((noinline)) void work(void) {
  inner();
  usleep(100);
}

int main(int argc, char **argv) {
  (void)argc;
  for (uint64_t id = 1; id < 300000 && access(argv[1], F_OK) == 0; id++) {
    vprof_interval_begin(id, "step");
    work();
    vprof_interval_end(id);
  }
  return 0;
}
