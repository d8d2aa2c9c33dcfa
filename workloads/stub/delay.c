#include "delay.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A number and us, ms or s; `end` is what follows. Negative: it is none. */
static double parse_duration_ns(const char *text, char **end) {
  static const struct {
    const char *name;
    double ns;
  } units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  const double number = strtod(text, end);
  for (size_t i = 0; i < sizeof units / sizeof *units && *end != text; i++) {
    const size_t length = strlen(units[i].name);
    if (strncmp(*end, units[i].name, length)) continue;
    *end += length;
    return number * units[i].ns;
  }
  return -1;
}

const char *delay_parse(struct delay *delay, const char *text) {
  static const char wrong[] = "must look like constant:2ms or lognormal:20ms:0.5";
  const bool constant = strncmp(text, "constant:", 9) == 0;
  char *end;
  if (!constant && strncmp(text, "lognormal:", 10)) return wrong;
  delay->median_ns = parse_duration_ns(text + (constant ? 9 : 10), &end);
  delay->sigma = 0;
  if (!constant && delay->median_ns >= 0 && *end == ':') delay->sigma = strtod(end + 1, &end);
  return delay->median_ns < 0 || *end || delay->sigma < 0 ? wrong : NULL;
}

const char *delay_parse_stall(struct delay *delay, const char *text) {
  static const char wrong[] = "must look like 200ms/10s, the first the shorter";
  char *end;
  const double stall = parse_duration_ns(text, &end);
  if (stall < 0 || *end != '/') return wrong;
  const double each = parse_duration_ns(end + 1, &end);
  if (*end || each <= stall) return wrong;
  delay->stall_ns = (int64_t)stall;
  delay->stall_each_ns = (int64_t)each;
  return NULL;
}

/* Of a standard normal distribution, by Box and Muller. */
static double draw_normal(struct random *random) {
  const double radius = sqrt(random_exponential(random, 2));
  return radius * cos(6.283185307179586 * random_unit(random));
}

static int64_t draw_ns(const struct delay *delay, struct random *random) {
  if (delay->sigma == 0) return (int64_t)delay->median_ns;
  return (int64_t)(delay->median_ns * exp(delay->sigma * draw_normal(random)));
}

int64_t delay_due_ns(const struct delay *delay, struct random *random, int64_t received_ns) {
  int64_t due_ns = received_ns + draw_ns(delay, random);
  if (!delay->stall_each_ns) return due_ns;
  int64_t number = (received_ns - delay->epoch_ns) / delay->stall_each_ns; /* of the newest stall that has begun */
  if (number < 1) number = 1;
  for (;; number++) {
    const int64_t begin_ns = delay->epoch_ns + number * delay->stall_each_ns, end_ns = begin_ns + delay->stall_ns;
    if (begin_ns > due_ns) return due_ns;
    if (end_ns > received_ns) due_ns += end_ns - (begin_ns > received_ns ? begin_ns : received_ns);
  }
}
