// mlockall as servers call it that must not wait for pages: what it answers, and how much is locked then.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { MEGABYTE = 1 << 20 };

__attribute__((noinline)) static int work(int x) {
  return x + 1;
}

static long locked_kilobytes(void) {
  char line[256];
  long kilobytes = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "VmLck: %ld", &kilobytes);
  fclose(status);
  return kilobytes;
}

static void show(const char *what, int result) {
  printf("%s: %d %s, locked: %s\n", what, result, result != 0 ? strerrorname_np(errno) : "0",
         locked_kilobytes() == 0     ? "nothing"
         : locked_kilobytes() < 8192 ? "a little"
                                     : "much");
}

int main(void) {
  work(1);
  show("mlockall future", mlockall(MCL_FUTURE));
  void *const memory = mmap(NULL, MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  show("mmap", memory == MAP_FAILED ? -1 : 0);
  show("munlockall", munlockall());
  show("mlockall current", mlockall(MCL_CURRENT));
  show("munlockall", munlockall());
  show("mlockall on fault", mlockall(MCL_CURRENT | MCL_ONFAULT));
  show("munlockall", munlockall());
  show("mlockall both", mlockall(MCL_CURRENT | MCL_FUTURE));
  void *const more = mmap(NULL, 2 * MEGABYTE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  show("mmap", more == MAP_FAILED ? -1 : 0);
  return 0;
}
