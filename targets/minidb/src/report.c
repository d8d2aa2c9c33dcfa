#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static double mean(const int64_t *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)values[i];
  return sum / (double)count;
}

static double deviation(const int64_t *values, size_t count) {
  double centre = mean(values, count), squares = 0;
  for (size_t i = 0; i < count; i++) squares += ((double)values[i] - centre) * ((double)values[i] - centre);
  return sqrt(squares / (double)count);
}

/* The nearest-rank quantile of sorted values. */
static double quantile(const int64_t *sorted, size_t count, double q) {
  size_t rank = (size_t)ceil(q * (double)count);
  return (double)sorted[rank ? rank - 1 : 0];
}

static void print_us(const char *name, double ns) {
  printf("%-12s %10.1f us\n", name, ns / 1000);
}

void report_latencies(int64_t *latencies_ns, size_t count, double seconds) {
  printf("%-12s %10zu\n", "transactions", count);
  if (count == 0) return;
  qsort(latencies_ns, count, sizeof *latencies_ns, compare);
  printf("%-12s %10.1f /s\n", "throughput", (double)count / seconds);
  print_us("mean", mean(latencies_ns, count));
  print_us("sd", deviation(latencies_ns, count));
  print_us("p50", quantile(latencies_ns, count, 0.5));
  print_us("p99", quantile(latencies_ns, count, 0.99));
  print_us("max", (double)latencies_ns[count - 1]);
}

void report_recovery(const struct recovery *found, const struct table *table) {
  int64_t sum = 0;
  uint64_t checksum = 0;
  for (size_t i = 0; i < table->row_count; i++) {
    sum += table->rows[i].balance;
    checksum = (checksum ^ (uint64_t)table->rows[i].balance) * 1099511628211u;
  }
  printf("%-12s %10zu\n%-12s %10zu\n", "transactions", found->transactions, "changes", found->changes);
  printf("%-12s %10" PRIu64 "\n", "lsn", found->last_lsn);
  printf("%-12s %10" PRId64 "\n%-12s %10" PRIx64 "\n", "balances", sum, "checksum", checksum);
}
