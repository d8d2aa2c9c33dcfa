#include <unistd.h>

__attribute__((noinline)) void other_late(void) {
  usleep(200);
}

__attribute__((noinline)) void make_late(void) {
  other_late();
  usleep(100);
}
