#include "zipf.h"

#include <math.h>

/* (exp(x) - 1) / x and log(1 + x) / x, which have no gap at 0: theta may be 1. */
static double exp_slope(double x) {
  return fabs(x) > 1e-8 ? expm1(x) / x : 1 + x / 2;
}

static double log_slope(double x) {
  return fabs(x) > 1e-8 ? log1p(x) / x : 1 - x / 2;
}

/* The density, not normalized. */
static double density(const struct zipf *zipf, double x) {
  return exp(-zipf->theta * log(x));
}

/* Its integral from 1 to x. */
static double area(const struct zipf *zipf, double x) {
  const double logarithm = log(x);
  return exp_slope((1 - zipf->theta) * logarithm) * logarithm;
}

/* The x up to which the integral is this. */
static double area_inverse(const struct zipf *zipf, double value) {
  const double scaled = fmax(value * (1 - zipf->theta), -1); /* below -1 by rounding only */
  return exp(log_slope(scaled) * value);
}

void zipf_init(struct zipf *zipf, int64_t count, double theta) {
  *zipf = (struct zipf){.count = count, .theta = theta};
  zipf->first = area(zipf, 1.5) - 1;
  zipf->last = area(zipf, (double)count + 0.5);
  zipf->sure = 2 - area_inverse(zipf, area(zipf, 2.5) - density(zipf, 2));
}

int64_t zipf_draw(const struct zipf *zipf, struct random *random) {
  for (;;) {
    const double drawn = zipf->last + random_unit(random) * (zipf->first - zipf->last);
    const double x = area_inverse(zipf, drawn);
    int64_t rank = (int64_t)(x + 0.5);
    if (rank < 1) rank = 1;
    if (rank > zipf->count) rank = zipf->count;
    if ((double)rank - x <= zipf->sure) return rank;
    if (drawn >= area(zipf, (double)rank + 0.5) - density(zipf, (double)rank)) return rank;
  }
}

int64_t zipf_scatter(int64_t rank, int64_t count) {
  const uint64_t prime = 2654435761; /* larger than any count, so that they have no common divisor */
  return (int64_t)((uint64_t)rank * prime % (uint64_t)count);
}
