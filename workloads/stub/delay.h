/* How long the stub takes to answer: a delay from a known distribution, and stalls in which nothing goes on. */
#ifndef VPROF_STUB_DELAY_H
#define VPROF_STUB_DELAY_H

#include <stdint.h>

#include "random.h"

struct delay {
  double median_ns;
  double sigma; /* of the logarithm; 0: constant */
  int64_t stall_ns;
  int64_t stall_each_ns; /* 0: no stalls */
  int64_t epoch_ns;      /* stalls begin at epoch_ns + k * stall_each_ns, k = 1, 2, ... */
};

/* "constant:2ms" or "lognormal:20ms:0.5". NULL, or what is wrong. */
const char *delay_parse(struct delay *delay, const char *text);
/* "200ms/10s". NULL, or what is wrong. */
const char *delay_parse_stall(struct delay *delay, const char *text);
/* When what arrived at received_ns is answered: after its delay, in which the time of stalls does not count. */
int64_t delay_due_ns(const struct delay *delay, struct random *random, int64_t received_ns);

#endif
