#include "tatp.h"

/* The inputs of all types: each uses some. */
struct inputs {
  int64_t subscriber;
  char number[TATP_NUMBER_SIZE]; /* the subscriber's */
  int64_t type;                  /* of access information or of a facility */
  int64_t start_time;
  int64_t end_time;
  int64_t bit;
  int64_t data;
  int64_t location;
  char forward_to[TATP_NUMBER_SIZE];
};

/* Not uniform: some subscribers are wanted more than others. The constants are the specification's. */
static int64_t draw_subscriber(struct random *random, int64_t subscribers) {
  const int64_t a = subscribers <= 1000000 ? 65535 : subscribers <= 10000000 ? 1048575 : 2097151;
  return (random_uniform(random, 0, a) | random_uniform(random, 1, subscribers)) % subscribers + 1;
}

static void choose(struct client *client, void *arguments) {
  struct inputs *inputs = arguments;
  struct random *random = &client->random;
  inputs->subscriber = draw_subscriber(random, tatp_subscribers(client->options));
  tatp_write_number(inputs->number, inputs->subscriber);
  inputs->type = random_uniform(random, 1, 4);
  inputs->start_time = 8 * random_uniform(random, 0, 2);
  inputs->end_time = random_uniform(random, 1, 24);
  inputs->bit = random_uniform(random, 0, 1);
  inputs->data = random_uniform(random, 0, 255);
  inputs->location = random_uniform(random, 1, UINT32_MAX);
  tatp_write_number(inputs->forward_to, random_uniform(random, 1, INT64_C(999999999999999)));
}

static enum db_result get_subscriber_data(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  int64_t bits[10], hexes[10], bytes[10], id, msc_location, vlr_location;
  char number[TATP_NUMBER_SIZE];
  (void)outcome;
#define OUT_10(a)                                                                                                 \
  out(&(a)[0]), out(&(a)[1]), out(&(a)[2]), out(&(a)[3]), out(&(a)[4]), out(&(a)[5]), out(&(a)[6]), out(&(a)[7]), \
      out(&(a)[8]), out(&(a)[9])
  return db_one(client->db,
                "SELECT s_id, sub_nbr, bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10, hex_1, "
                "hex_2, hex_3, hex_4, hex_5, hex_6, hex_7, hex_8, hex_9, hex_10, byte2_1, byte2_2, byte2_3, byte2_4, "
                "byte2_5, byte2_6, byte2_7, byte2_8, byte2_9, byte2_10, msc_location, vlr_location "
                "FROM subscriber WHERE s_id = ?",
                in(inputs->subscriber), out(&id), out_text(number), OUT_10(bits), OUT_10(hexes), OUT_10(bytes),
                out(&msc_location), out(&vlr_location));
}

static enum db_result get_new_destination(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  char forward_to[TATP_NUMBER_SIZE];
  bool found = false;
  TRY(db_query(client->db,
               "SELECT cf.numberx FROM special_facility sf JOIN call_forwarding cf ON cf.s_id = sf.s_id AND "
               "cf.sf_type = sf.sf_type WHERE sf.s_id = ? AND sf.sf_type = ? AND sf.is_active = 1 AND "
               "cf.start_time <= ? AND cf.end_time > ?",
               in(inputs->subscriber), in(inputs->type), in(inputs->start_time), in(inputs->end_time),
               out_text(forward_to)));
  while (db_next(client->db)) found = true;
  if (!found) *outcome = OUTCOME_ROLLED_BACK;
  return db_ended(client->db);
}

static enum db_result get_access_data(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  int64_t data1, data2;
  char data3[4], data4[6];
  const enum db_result result =
      db_one(client->db, "SELECT data1, data2, data3, data4 FROM access_info WHERE s_id = ? AND ai_type = ?",
             in(inputs->subscriber), in(inputs->type), out(&data1), out(&data2), out_text(data3), out_text(data4));
  if (result == DB_NO_ROW) *outcome = OUTCOME_ROLLED_BACK;
  return result == DB_NO_ROW ? DB_OK : result;
}

/* Ends a transaction whose last statement should have changed one row. */
static enum db_result end_if_changed(struct client *client, enum outcome *outcome) {
  if (db_changed(client->db) == 1) return db_commit(client->db);
  *outcome = OUTCOME_ROLLED_BACK;
  return db_rollback(client->db);
}

static enum db_result update_subscriber_data(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  TRY(db_begin_as(client->db, client->type));
  TRY(db_execute(client->db, "UPDATE subscriber SET bit_1 = ? WHERE s_id = ?", in(inputs->bit),
                 in(inputs->subscriber)));
  TRY(db_execute(client->db, "UPDATE special_facility SET data_a = ? WHERE s_id = ? AND sf_type = ?", in(inputs->data),
                 in(inputs->subscriber), in(inputs->type)));
  return end_if_changed(client, outcome);
}

static enum db_result update_location(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  (void)outcome;
  TRY(db_execute(client->db, "UPDATE subscriber SET vlr_location = ? WHERE sub_nbr = ?", in(inputs->location),
                 in(inputs->number)));
  return db_changed(client->db) == 1 ? DB_OK : DB_NO_ROW;
}

static enum db_result find_subscriber(struct client *client, const struct inputs *inputs, int64_t *id) {
  return db_one(client->db, "SELECT s_id FROM subscriber WHERE sub_nbr = ?", in(inputs->number), out(id));
}

static enum db_result read_facilities(struct client *client, int64_t id) {
  int64_t type;
  TRY(db_query(client->db, "SELECT sf_type FROM special_facility WHERE s_id = ?", in(id), out(&type)));
  while (db_next(client->db)) continue;
  return db_ended(client->db);
}

/* Nothing is inserted if the facility is not there or forwards already: no error, which would end a transaction of
 * PostgreSQL in another way than one of MariaDB. */
static enum db_result insert_call_forwarding(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  int64_t id;
  TRY(db_begin_as(client->db, client->type));
  TRY(find_subscriber(client, inputs, &id));
  TRY(read_facilities(client, id));
  TRY(db_execute(
      client->db,
      db_kind(client->db) == DB_POSTGRES
          ? "INSERT INTO call_forwarding (s_id, sf_type, start_time, end_time, numberx) SELECT s_id, sf_type, "
            "?, ?, ? FROM special_facility WHERE s_id = ? AND sf_type = ? ON CONFLICT DO NOTHING"
          : "INSERT IGNORE INTO call_forwarding (s_id, sf_type, start_time, end_time, numberx) SELECT s_id, "
            "sf_type, ?, ?, ? FROM special_facility WHERE s_id = ? AND sf_type = ?",
      in(inputs->start_time), in(inputs->end_time), in(inputs->forward_to), in(id), in(inputs->type)));
  return end_if_changed(client, outcome);
}

static enum db_result delete_call_forwarding(struct client *client, void *arguments, enum outcome *outcome) {
  const struct inputs *inputs = arguments;
  int64_t id;
  TRY(db_begin_as(client->db, client->type));
  TRY(find_subscriber(client, inputs, &id));
  TRY(db_execute(client->db, "DELETE FROM call_forwarding WHERE s_id = ? AND sf_type = ? AND start_time = ?", in(id),
                 in(inputs->type), in(inputs->start_time)));
  return end_if_changed(client, outcome);
}

#define TYPE(function, percent)             \
  {.name = TYPE_NAME(function),             \
   .weight = (percent),                     \
   .arguments_size = sizeof(struct inputs), \
   .choose = choose,                        \
   .run = function}

static const struct transaction_type types[] = {
    TYPE(get_subscriber_data, 35),   TYPE(get_new_destination, 10), TYPE(get_access_data, 35),
    TYPE(update_subscriber_data, 2), TYPE(update_location, 14),     TYPE(insert_call_forwarding, 2),
    TYPE(delete_call_forwarding, 2),
};

const struct workload tatp_workload = {
    .name = "tatp",
    .summary = "TATP: seven short transactions of a telephone network on --scale thousand subscribers",
    .types = types,
    .type_count = sizeof types / sizeof *types,
    .setup = tatp_setup,
    .begin = tatp_begin,
    .check = tatp_check,
};
