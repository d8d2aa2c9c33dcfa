#include "row.h"

#include <stdio.h>
#include <string.h>

#include "decimal.h"

static const char alphanumeric[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits[] = "0123456789";

void row_clear(struct row *row) {
  row->count = 0;
  row->used = 0;
}

/* Room for a value of `length` characters, ended by 0. The widest row, a customer's, fits into ROW_MAX_TEXT. */
static char *append(struct row *row, size_t length) {
  char *value = row->text + row->used;
  value[length] = 0;
  row->values[row->count++] = value;
  row->used += length + 1;
  return value;
}

void row_null(struct row *row) {
  row->values[row->count++] = NULL;
}

void row_text(struct row *row, const char *value) {
  const size_t length = strlen(value);
  memcpy(append(row, length), value, length);
}

void row_int(struct row *row, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  row_text(row, text);
}

void row_decimal(struct row *row, int64_t units, int places) {
  char text[DECIMAL_SIZE];
  decimal_text(text, units, places);
  row_text(row, text);
}

void row_random_decimal(struct row *row, struct random *random, int64_t low, int64_t high, int places) {
  row_decimal(row, random_uniform(random, low, high), places);
}

static char *append_random(struct row *row, struct random *random, int low, int high, const char *characters) {
  const int64_t last = (int64_t)strlen(characters) - 1;
  const size_t length = (size_t)random_uniform(random, low, high);
  char *value = append(row, length);
  for (size_t i = 0; i < length; i++) value[i] = characters[random_uniform(random, 0, last)];
  return value;
}

void row_random_text(struct row *row, struct random *random, int low, int high) {
  append_random(row, random, low, high, alphanumeric);
}

void row_random_capitals(struct row *row, struct random *random, int low, int high) {
  append_random(row, random, low, high, capitals);
}

void row_random_digits(struct row *row, struct random *random, int low, int high, const char *then) {
  append_random(row, random, low, high, digits);
  strcpy(row->text + row->used - 1, then); /* over the 0 */
  row->used += strlen(then);
}

void row_random_data(struct row *row, struct random *random) {
  static const char original[] = "ORIGINAL";
  const size_t length = sizeof original - 1;
  char *value = append_random(row, random, 26, 50, alphanumeric);
  if (random_uniform(random, 1, 10) > 1) return;
  const int64_t last = (int64_t)(strlen(value) - length);
  memcpy(value + random_uniform(random, 0, last), original, length);
}
