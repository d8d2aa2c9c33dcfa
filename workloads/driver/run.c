#include "run.h"

#include <stdio.h>

int run_load(const struct driver_options *options) {
  (void)options;
  fprintf(stderr, "vprof-load-driver: run is not there yet\n");
  return 1;
}
