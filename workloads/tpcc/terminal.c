#include "terminal.h"

int64_t tpcc_home_warehouse(const struct client *client) {
  return client->number % client->options->scale + 1;
}

int64_t tpcc_home_district(const struct client *client) {
  return client->number / client->options->scale % TPCC_DISTRICTS + 1;
}

bool tpcc_has_other_warehouses(const struct client *client) {
  return client->options->scale > 1;
}

int64_t tpcc_other_warehouse(struct client *client, int64_t warehouse) {
  const int64_t other = random_uniform(&client->random, 1, client->options->scale - 1);
  return other < warehouse ? other : other + 1;
}

int64_t tpcc_random_district(struct client *client) {
  return random_uniform(&client->random, 1, TPCC_DISTRICTS);
}

bool tpcc_percent(struct client *client, int64_t percent) {
  return random_uniform(&client->random, 1, 100) <= percent;
}

void tpcc_choose_customer(struct client *client, int64_t *customer, char name[static TPCC_LAST_NAME_SIZE]) {
  *customer = 0;
  *name = 0;
  if (tpcc_percent(client, 60)) {
    tpcc_last_name(tpcc_random_asked_name(&client->random), name);
  } else {
    *customer = tpcc_random_customer(&client->random);
  }
}
