/* report.h: the summary of a run. */
#ifndef MINIDB_REPORT_H
#define MINIDB_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "recovery.h"
#include "table.h"

/* Prints number, throughput, mean, standard deviation (population), p50, p99 and maximum of the latencies to standard
 * output, one `name value unit` per line. Sorts the array. */
void report_latencies(int64_t *latencies_ns, size_t count, double seconds);

/* Prints what was recovered, and the sum and a checksum of all balances, in the same form. */
void report_recovery(const struct recovery *found, const struct table *table);

#endif
