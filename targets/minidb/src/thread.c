#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pthread_t thread_start(void *(*main)(void *), void *argument) {
  pthread_t thread;
  int error = pthread_create(&thread, NULL, main, argument);
  if (error) {
    fprintf(stderr, "minidb: cannot start a thread: %s\n", strerror(error));
    exit(1);
  }
  return thread;
}
