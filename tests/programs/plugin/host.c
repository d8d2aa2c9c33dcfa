/* A program that knows nothing of vprof: loads the library it is told to and calls plug() so many times. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  long (*plug)(long) = NULL;
  void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (library != NULL) plug = (long (*)(long))dlsym(library, "plug");
  if (plug == NULL) return 2;
  long sum = 0;
  for (int k = 0; k < atoi(argv[2]); ++k) {
    sum += plug(k);
    usleep(300);
  }
  printf("%ld\n", sum);
  return 0;
}
