/* Money and rates without rounding: SQL's decimals travel as text and are whole numbers in C, of cents for instance. */
#ifndef VPROF_TPCC_DECIMAL_H
#define VPROF_TPCC_DECIMAL_H

#include <stdint.h>

enum { DECIMAL_SIZE = 32 };

/* "12.5" with 2 places is 1250. Digits beyond these places are left out. */
int64_t decimal_units(const char *text, int places);
/* 1250 with 2 places is "12.50". */
void decimal_text(char text[static DECIMAL_SIZE], int64_t units, int places);

#endif
