#include "pathology.h"

#include <stddef.h>
#include <string.h>

static const struct pathology pathologies[] = {
    {.name = "none"},
    {.name = "lock", .hot_row_percent = 70, .audit = {.percent = 25, .most = 50000}},
    {.name = "wal", .compress = {.percent = 25, .most = 5000}},
    {.name = "lru", .evict = {.percent = 25, .most = 6000}},
};

const struct pathology *pathology_find(const char *name) {
  for (size_t i = 0; i < sizeof pathologies / sizeof *pathologies; i++) {
    if (strcmp(pathologies[i].name, name) == 0) return &pathologies[i];
  }
  return NULL;
}

static unsigned draw(const struct spread *spread, unsigned amount, struct rng *rng) {
  if (!rng_percent(rng, spread->percent)) return 1;
  unsigned work = rng_between(rng, 1, spread->most) * amount / 100;
  return work ? work : 1;
}

struct work pathology_deal(const struct pathology *pathology, unsigned amount, struct rng *rng) {
  struct work work;
  work.audit_rounds = draw(&pathology->audit, amount, rng);
  work.compress_passes = draw(&pathology->compress, amount, rng);
  work.evict_sweeps = draw(&pathology->evict, amount, rng);
  work.cleanup_units = rng_percent(rng, 10) ? rng_between(rng, 1, 2000) : 1;
  return work;
}
