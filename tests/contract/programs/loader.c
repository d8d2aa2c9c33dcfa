// Loads LIBRARY once the file LOAD exists, and calls it for as long as GO_ON does.
#include <dlfcn.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  while (access(argv[2], F_OK) != 0) usleep(1000);
  void *library = dlopen(argv[1], RTLD_NOW);
  void (*make_late)(void) = library ? (void (*)(void))dlsym(library, "make_late") : 0;
  if (!make_late) return 3;
  while (access(argv[3], F_OK) == 0) make_late();
  return 0;
}
