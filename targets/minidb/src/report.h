/* report.h: the summary of a run. */
#ifndef MINIDB_REPORT_H
#define MINIDB_REPORT_H

#include <stddef.h>
#include <stdint.h>

/* Prints number, throughput, mean, standard deviation (population), p50, p99 and maximum of the latencies to standard
 * output, one `name value unit` per line. Sorts the array. */
void report_latencies(int64_t *latencies_ns, size_t count, double seconds);

#endif
