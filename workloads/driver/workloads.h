/* The workloads that there are. */
#ifndef VPROF_WORKLOADS_H
#define VPROF_WORKLOADS_H

#include "workload.h"

/* NULL: there is none of that name. */
const struct workload *workload_find(const char *name);
/* Names and summaries to stdout, a line each. */
void workloads_list(void);

#endif
