/* options.h: the command line. */
#ifndef MINIDB_OPTIONS_H
#define MINIDB_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "pathology.h"

struct options {
  double seconds;
  size_t clients;
  struct engine_options engine;
  const struct pathology *pathology;
  unsigned amount; /* of planted work, in percent */
};

/* The options, or the defaults. A mistake ends the program: one line on standard error, exit code 2. */
struct options options_parse(int argc, char **argv);

#endif
