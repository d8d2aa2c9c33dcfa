/* noop: one round trip that asks nothing, the floor under all other workloads: network, wake-ups, the driver itself. */
#include <stdio.h>

#include "workload.h"

static enum db_result select_1(struct client *client, void *arguments, enum outcome *outcome) {
  int64_t one;
  (void)arguments;
  TRY(db_one(client->db, "SELECT 1", out(&one)));
  *outcome = OUTCOME_COMMITTED;
  return DB_OK;
}

static const struct transaction_type types[] = {{.name = TYPE_NAME(select_1), .weight = 1, .run = select_1}};

static int setup(const struct load_options *options) {
  (void)options;
  return 0; /* it has no tables */
}

static int check(const struct load_options *options) {
  (void)options;
  printf("ok no tables\n");
  return 0;
}

const struct workload noop_workload = {
    .name = "noop",
    .summary = "one SELECT 1: the floor of the round trip and of the driver itself",
    .types = types,
    .type_count = sizeof types / sizeof *types,
    .setup = setup,
    .check = check,
};
