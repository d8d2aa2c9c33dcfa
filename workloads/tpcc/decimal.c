#include "decimal.h"

#include <stdbool.h>
#include <stdio.h>

static int64_t power_of_10(int exponent) {
  int64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

int64_t decimal_units(const char *text, int places) {
  const bool negative = *text == '-';
  int64_t units = 0;
  if (negative) text++;
  for (; *text >= '0' && *text <= '9'; text++) units = 10 * units + (*text - '0');
  if (*text == '.') text++;
  for (; places > 0 && *text >= '0' && *text <= '9'; places--, text++) units = 10 * units + (*text - '0');
  units *= power_of_10(places);
  return negative ? -units : units;
}

void decimal_text(char text[static DECIMAL_SIZE], int64_t units, int places) {
  const int64_t one = power_of_10(places);
  const int64_t size = units < 0 ? -units : units;
  snprintf(text, DECIMAL_SIZE, "%s%lld.%0*lld", units < 0 ? "-" : "", (long long)(size / one), places,
           (long long)(size % one));
}
