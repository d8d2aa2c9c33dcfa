/* What the terminals' inputs have in common. A client is a terminal: it stands in one warehouse for all of a run. */
#ifndef VPROF_TPCC_TERMINAL_H
#define VPROF_TPCC_TERMINAL_H

#include "nurand.h"
#include "tpcc.h"

/* Client 0 stands in warehouse 1, client 1 in warehouse 2, ...; then the next district of each. */
int64_t tpcc_home_warehouse(const struct client *client);
int64_t tpcc_home_district(const struct client *client); /* of stock_level */
/* Any warehouse but this one. Only if there are others. */
int64_t tpcc_other_warehouse(struct client *client, int64_t warehouse);
bool tpcc_has_other_warehouses(const struct client *client);
int64_t tpcc_random_district(struct client *client);
bool tpcc_percent(struct client *client, int64_t percent);
/* By last name in 60 % of cases: `*customer` is 0 then, otherwise `name` is "". */
void tpcc_choose_customer(struct client *client, int64_t *customer, char name[static TPCC_LAST_NAME_SIZE]);

#endif
