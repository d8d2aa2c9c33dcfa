#include "pathology.h"

#include <stddef.h>
#include <string.h>

static const struct pathology pathologies[] = {
    {.name = "none"},
    {.name = "lock", .hot_row_percent = 70, .audit = {.percent = 25, .most = 50000}},
    {.name = "wal", .compress = {.percent = 25, .most = 5000}},
    {.name = "lru", .evict = {.percent = 25, .most = 6000}},
    {.name = "workers", .workers = 1, .scan = {6000, 6000, 6000}},
    {.name = "rare", .rebuild = {.one_in = 100, .work = 3000}},
    {.name = "pair", .version = {.percent = 25, .most = 25000}},
    {.name = "types", .scan = {[TXN_TRANSFER] = 12000, [TXN_DEPOSIT] = 1, [TXN_STATEMENT] = 40000}},
};

const struct pathology *pathology_find(const char *name) {
  for (size_t i = 0; i < sizeof pathologies / sizeof *pathologies; i++) {
    if (strcmp(pathologies[i].name, name) == 0) return &pathologies[i];
  }
  return NULL;
}

static unsigned scaled(unsigned work, unsigned amount) {
  return work * amount / 100;
}

static unsigned draw(const struct spread *spread, unsigned amount, struct rng *rng) {
  if (!rng_percent(rng, spread->percent)) return 1;
  unsigned work = scaled(rng_between(rng, 1, spread->most), amount);
  return work ? work : 1;
}

static unsigned draw_rarely(const struct rarely *rarely, unsigned amount, struct rng *rng) {
  return rarely->one_in && rng_between(rng, 1, rarely->one_in) == 1 ? scaled(rarely->work, amount) : 0;
}

struct work pathology_deal(const struct pathology *pathology, enum txn_type type, unsigned amount, struct rng *rng) {
  struct work work;
  work.audit_rounds = draw(&pathology->audit, amount, rng);
  work.compress_passes = draw(&pathology->compress, amount, rng);
  work.evict_sweeps = draw(&pathology->evict, amount, rng);
  work.version_rounds = draw(&pathology->version, amount, rng);
  work.sort_passes = draw_rarely(&pathology->rebuild, amount, rng);
  work.scan_rounds = scaled(pathology->scan[type], amount);
  work.cleanup_units = rng_percent(rng, 10) ? rng_between(rng, 1, 2000) : 1;
  return work;
}
