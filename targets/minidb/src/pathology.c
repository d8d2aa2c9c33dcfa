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

static unsigned draw(const struct spread *spread, struct rng *rng) {
  return rng_percent(rng, spread->percent) ? rng_between(rng, 1, spread->most) : 1;
}

struct work pathology_deal(const struct pathology *pathology, struct rng *rng) {
  struct work work;
  work.audit_rounds = draw(&pathology->audit, rng);
  work.compress_passes = draw(&pathology->compress, rng);
  work.evict_sweeps = draw(&pathology->evict, rng);
  work.cleanup_units = rng_percent(rng, 10) ? rng_between(rng, 1, 2000) : 1;
  return work;
}
