/* What the program was asked to do. */
#ifndef VPROF_LOAD_OPTIONS_H
#define VPROF_LOAD_OPTIONS_H

#include <stdbool.h>

#include "workload.h"

enum command { COMMAND_SETUP, COMMAND_RUN, COMMAND_CHECK, COMMAND_LIST };

struct driver_options {
  enum command command;
  const struct workload *workload; /* NULL: list */
  struct load_options load;
  const char *latencies; /* path of the file */
  double seconds;
  double warmup;
  double rate; /* per second; 0: a closed loop */
  bool even;   /* arrivals; false: Poisson */
  double think_ms;
  int tries;
  bool progress;
  bool dry_run; /* the options are checked, nothing is run */
};

/* One line to stderr, with the program's name. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A wrong command line is said in one line and ends the program with code 2; --help with 0. */
struct driver_options options_parse(int argc, char **argv);

#endif
