#include "workloads.h"

#include <stdio.h>
#include <string.h>

/* CMakeLists.txt defines HAVE_NAME for each workload whose source is there. */
static const struct workload *const workloads[] = {
    &noop_workload,
#ifdef HAVE_TPCC
    &tpcc_workload,
#endif
#ifdef HAVE_TATP
    &tatp_workload,
#endif
#ifdef HAVE_YCSB
    &ycsb_workload,
#endif
#ifdef HAVE_ZIPF_LOCKS
    &zipf_locks_workload,
#endif
};
enum { WORKLOAD_COUNT = sizeof workloads / sizeof *workloads };

const struct workload *workload_find(const char *name) {
  for (int i = 0; i < WORKLOAD_COUNT; i++) {
    if (strcmp(workloads[i]->name, name) == 0) return workloads[i];
  }
  return NULL;
}

void workloads_list(void) {
  for (int i = 0; i < WORKLOAD_COUNT; i++) printf("%-12s %s\n", workloads[i]->name, workloads[i]->summary);
}
