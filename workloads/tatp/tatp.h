/* TATP, the Telecommunication Application Transaction Processing benchmark (version 1.0): short transactions on four
 * tables of a home location register, most of them reads by key.
 *
 * Some transactions find nothing or change nothing by their rule, as their inputs are drawn without regard to what is
 * there: they end as rolled back. --scale is thousands of subscribers.
 */
#ifndef VPROF_TATP_H
#define VPROF_TATP_H

#include "workload.h"

enum { TATP_NUMBER_SIZE = 16 }; /* of a telephone number: 15 digits and a 0 */

int64_t tatp_subscribers(const struct load_options *options);
/* The subscriber's number, by which some transactions look for it. */
void tatp_write_number(char *number, int64_t subscriber);

int tatp_setup(const struct load_options *options);
int tatp_begin(const struct load_options *options);
int tatp_check(const struct load_options *options);

#endif
