// Parent and child record the same function.
#include <sys/wait.h>
#include <unistd.h>
#include <vprof/vprof.h>

__attribute__((noinline)) void work(int times) {
  for (int i = 0; i < times; i++) usleep(100);
}

int main(void) {
  pid_t child = fork();
  unsigned long id = child ? 1 : 2;
  vprof_interval_begin(id, child ? "parent" : "child");
  work(child ? 3 : 4);
  vprof_interval_end(id);
  if (child == 0) _exit(0);
  waitpid(child, 0, 0);
  return 0;
}
