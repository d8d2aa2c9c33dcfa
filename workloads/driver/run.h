/* One run of a load: its clients, its files, its result. */
#ifndef VPROF_LOAD_RUN_H
#define VPROF_LOAD_RUN_H

#include "options.h"

/* The program's exit code: 0, 1 (an error, said in one line), 3 (the run was cut short). */
int run_load(const struct driver_options *options);

#endif
