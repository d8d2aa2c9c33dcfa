/* A row on its way into a table: its values as text, one after the other. */
#ifndef VPROF_TPCC_ROW_H
#define VPROF_TPCC_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "random.h"

enum { ROW_MAX_VALUES = 24, ROW_MAX_TEXT = 2048 };

struct row {
  const char *values[ROW_MAX_VALUES];
  size_t count;
  char text[ROW_MAX_TEXT]; /* what `values` point to */
  size_t used;
};

/* Empties it. */
void row_clear(struct row *row);
/* Each appends a value. */
void row_null(struct row *row);
void row_int(struct row *row, int64_t value);
void row_text(struct row *row, const char *value);
void row_decimal(struct row *row, int64_t units, int places);
void row_random_decimal(struct row *row, struct random *random, int64_t low, int64_t high, int places);
/* `low` to `high` random characters: letters and digits, capital letters, digits. */
void row_random_text(struct row *row, struct random *random, int low, int high);
void row_random_capitals(struct row *row, struct random *random, int low, int high);
void row_random_digits(struct row *row, struct random *random, int low, int high, const char *then);
/* 26 to 50 characters, of which each tenth value has ORIGINAL somewhere in it. */
void row_random_data(struct row *row, struct random *random);

#endif
