/* Prints the inputs that clients of TPC-C draw: tpcc_inputs TYPE SCALE CLIENT SEED COUNT, a line per transaction. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terminal.h"
#include "transactions.h"

#define NUMBER "%" PRId64 " "

static void new_order(struct client *client) {
  struct new_order order;
  tpcc_choose_new_order(client, &order);
  printf(NUMBER NUMBER NUMBER NUMBER, order.warehouse, order.district, order.customer, order.all_local);
  for (int64_t i = 0; i < order.line_count; i++) {
    const struct new_order_line *line = &order.lines[i];
    printf(NUMBER NUMBER NUMBER, line->item, line->supply_warehouse, line->quantity);
  }
}

static void payment(struct client *client) {
  struct payment payment;
  tpcc_choose_payment(client, &payment);
  printf(NUMBER NUMBER NUMBER NUMBER NUMBER, payment.warehouse, payment.district, payment.customer_warehouse,
         payment.customer_district, payment.customer);
  printf("%s %s", payment.amount, payment.last_name);
}

static void order_status(struct client *client) {
  struct order_status status;
  tpcc_choose_order_status(client, &status);
  printf(NUMBER NUMBER NUMBER "%s", status.warehouse, status.district, status.customer, status.last_name);
}

static void delivery(struct client *client) {
  struct delivery delivery;
  tpcc_choose_delivery(client, &delivery);
  printf(NUMBER NUMBER, delivery.warehouse, delivery.carrier);
}

static void stock_level(struct client *client) {
  struct stock_level level;
  tpcc_choose_stock_level(client, &level);
  printf(NUMBER NUMBER NUMBER, level.warehouse, level.district, level.threshold);
}

static void loaded_name(struct client *client) {
  char name[TPCC_LAST_NAME_SIZE];
  const int64_t number = tpcc_random_loaded_name(&client->random);
  tpcc_last_name(number, name);
  printf(NUMBER "%s", number, name);
}

static const struct {
  const char *name;
  void (*print)(struct client *client);
} types[] = {{"new_order", new_order}, {"payment", payment},         {"order_status", order_status},
             {"delivery", delivery},   {"stock_level", stock_level}, {"loaded_name", loaded_name}};

int main(int argc, char **argv) {
  if (argc != 6) return 2;
  const struct load_options options = {.scale = atoi(argv[2])};
  struct client client = {.options = &options, .number = atoi(argv[3])};
  random_seed(&client.random, strtoull(argv[4], NULL, 10), (uint64_t)client.number);
  for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
    if (strcmp(types[type].name, argv[1]) != 0) continue;
    for (int i = 0; i < atoi(argv[5]); i++) {
      types[type].print(&client);
      putchar('\n');
    }
  }
}
