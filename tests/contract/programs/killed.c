// Dies inside a probed function, without a chance to say anything.
#include <signal.h>
#include <unistd.h>

__attribute__((noinline)) void stuck(void) {
  usleep(20000);
  raise(SIGKILL);
}

__attribute__((noinline)) void done(void) {
  usleep(10);
}

int main(void) {
  for (int i = 0; i < 5; i++) done();
  stuck();
  return 0;
}
