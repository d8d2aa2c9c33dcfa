/* TPC-C's non-uniform random numbers (clause 2.1.6), and last names made of syllables (clause 4.3.2.3). */
#ifndef VPROF_TPCC_NURAND_H
#define VPROF_TPCC_NURAND_H

#include <stdint.h>

#include "random.h"

enum { TPCC_LAST_NAME_SIZE = 16 + 1 };

/* NURand(a, low, high) with the constant c: in [low, high], some values far likelier than others. */
int64_t tpcc_nurand(struct random *random, int64_t a, int64_t low, int64_t high, int64_t c);

/* Numbers of customers (1 .. 3000), of items (1 .. 100000), and of last names (0 .. 999). */
int64_t tpcc_random_customer(struct random *random);
int64_t tpcc_random_item(struct random *random);
int64_t tpcc_random_loaded_name(struct random *random); /* while the tables are filled */
int64_t tpcc_random_asked_name(struct random *random);  /* by a transaction */

/* BARBARBAR .. EINGEINGEING: a syllable per digit of `number`, 0 .. 999. */
void tpcc_last_name(int64_t number, char name[static TPCC_LAST_NAME_SIZE]);

#endif
