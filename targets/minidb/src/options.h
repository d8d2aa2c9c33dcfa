/* options.h: the command line. */
#ifndef MINIDB_OPTIONS_H
#define MINIDB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contention.h"
#include "engine.h"
#include "pathology.h"

struct options {
  double seconds;
  size_t clients;
  struct engine_options engine;
  double rate;                               /* arrivals a second; 0: a closed loop */
  const struct contention_level *contention; /* NULL: none */
  const struct pathology *pathology;
  bool recover;        /* only say what the log has */
  const char *replies; /* file of the LSNs that clients were told of; NULL: none */
  unsigned amount;     /* of planted work, in percent */
  size_t stall_every;  /* one commit in so many stalls; 0: none */
  const char *slow;    /* file of what took long, for whoever looks for it; NULL: none */
};

/* The options, or the defaults. A mistake ends the program: one line on standard error, exit code 2. */
struct options options_parse(int argc, char **argv);

#endif
