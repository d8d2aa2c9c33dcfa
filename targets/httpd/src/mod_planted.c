/* A module with a planted cause: one in 16 lookups misses the cache and walks a long chain. A drill-down has to name
 * planted_walk_chain among all that httpd does for a request. The fix: with -D short_chain a miss walks a hundredth of
 * it. */

// clang-format off: the others need what this one defines
#include "httpd.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"
// clang-format on

#define CHAIN 4096
#define STEPS_OF_A_HIT 64
#define STEPS_OF_A_MISS 4000000
#define STEPS_WHEN_SHORT 40000
#define MISS_EVERY 16

static unsigned chain[CHAIN];
static int steps_of_a_miss = STEPS_OF_A_MISS;
static volatile unsigned lookups;

/* Each link depends on the one before, so nothing is computed ahead. */
static unsigned planted_walk_chain(unsigned at, int steps) {
  while (steps-- > 0) at = chain[at];
  return at;
}

static unsigned planted_lookup(unsigned key) {
  const unsigned number = __atomic_add_fetch(&lookups, 1, __ATOMIC_RELAXED);
  const int steps = number % MISS_EVERY ? STEPS_OF_A_HIT : steps_of_a_miss;
  return planted_walk_chain((key + number) % CHAIN, steps);
}

static int planted_handler(request_rec *r) {
  if (!r->handler || strcmp(r->handler, "planted")) return DECLINED;
  ap_set_content_type(r, "text/plain");
  ap_rprintf(r, "%u\n", planted_lookup((unsigned)strlen(r->uri)));
  return OK;
}

static void planted_hooks(apr_pool_t *pool) {
  if (ap_exists_config_define("short_chain")) steps_of_a_miss = STEPS_WHEN_SHORT;
  for (unsigned i = 0; i < CHAIN; ++i) chain[i] = (i * 1663 + 1013) % CHAIN;
  ap_hook_handler(planted_handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(planted) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, planted_hooks, 0};
