/* What a run says at its end: one JSON object on stdout. */
#ifndef VPROF_LOAD_RESULT_H
#define VPROF_LOAD_RESULT_H

#include "run.h"

void result_print(const struct run *run);

#endif
