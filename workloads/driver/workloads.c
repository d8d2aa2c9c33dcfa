#include "workloads.h"

#include <stdio.h>
#include <string.h>

static const struct workload *const workloads[] = {&noop_workload, &tpcc_workload, &tatp_workload, &ycsb_workload,
                                                   &zipf_locks_workload};
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
