/* The tables of TATP: their rows before a run, and what must hold after one. */
#include "tables.h"

#include <inttypes.h>
#include <stdio.h>

#include "tatp.h"

enum {
  BITS = 10,
  TYPES = 4,
  START_TIMES = 3,
  SUBSCRIBER_COLUMNS = 34,
  MAX_COLUMNS = SUBSCRIBER_COLUMNS,
  VALUE_SIZE = 24
};

static const char *const statements[] = {
    "DROP TABLE IF EXISTS call_forwarding, special_facility, access_info, subscriber",
    "CREATE TABLE subscriber (s_id int NOT NULL PRIMARY KEY, sub_nbr varchar(15) NOT NULL UNIQUE, "
    "bit_1 smallint, bit_2 smallint, bit_3 smallint, bit_4 smallint, bit_5 smallint, "
    "bit_6 smallint, bit_7 smallint, bit_8 smallint, bit_9 smallint, bit_10 smallint, "
    "hex_1 smallint, hex_2 smallint, hex_3 smallint, hex_4 smallint, hex_5 smallint, "
    "hex_6 smallint, hex_7 smallint, hex_8 smallint, hex_9 smallint, hex_10 smallint, "
    "byte2_1 smallint, byte2_2 smallint, byte2_3 smallint, byte2_4 smallint, byte2_5 smallint, "
    "byte2_6 smallint, byte2_7 smallint, byte2_8 smallint, byte2_9 smallint, byte2_10 smallint, "
    "msc_location bigint, vlr_location bigint)",
    "CREATE TABLE access_info (s_id int NOT NULL, ai_type smallint NOT NULL, data1 smallint, data2 smallint, "
    "data3 varchar(3), data4 varchar(5), PRIMARY KEY (s_id, ai_type), "
    "FOREIGN KEY (s_id) REFERENCES subscriber (s_id))",
    "CREATE TABLE special_facility (s_id int NOT NULL, sf_type smallint NOT NULL, is_active smallint NOT NULL, "
    "error_cntrl smallint, data_a smallint, data_b varchar(5), PRIMARY KEY (s_id, sf_type), "
    "FOREIGN KEY (s_id) REFERENCES subscriber (s_id))",
    "CREATE TABLE call_forwarding (s_id int NOT NULL, sf_type smallint NOT NULL, start_time smallint NOT NULL, "
    "end_time smallint, numberx varchar(15), PRIMARY KEY (s_id, sf_type, start_time), "
    "FOREIGN KEY (s_id, sf_type) REFERENCES special_facility (s_id, sf_type))",
};

int64_t tatp_subscribers(const struct load_options *options) {
  return options->scale * 1000;
}

void tatp_write_number(char *number, int64_t subscriber) {
  snprintf(number, TATP_NUMBER_SIZE, "%015" PRId64, subscriber);
}

/* One row while it is filled: values as text. */
struct row {
  char values[MAX_COLUMNS][VALUE_SIZE];
  int count;
};

static void add_integer(struct row *row, int64_t value) {
  snprintf(row->values[row->count++], VALUE_SIZE, "%" PRId64, value);
}

static void add_drawn(struct row *row, struct random *random, int64_t low, int64_t high) {
  add_integer(row, random_uniform(random, low, high));
}

static void add_letters(struct row *row, struct random *random, int length) {
  char *value = row->values[row->count++];
  for (int i = 0; i < length; i++) value[i] = (char)random_uniform(random, 'A', 'Z');
  value[length] = 0;
}

static enum db_result send(struct db_bulk *bulk, const struct row *row) {
  const char *values[MAX_COLUMNS];
  for (int i = 0; i < row->count; i++) values[i] = row->values[i];
  return db_bulk_row(bulk, values);
}

static enum db_result load_subscriber(struct db_bulk *bulk, struct random *random, int64_t subscriber) {
  struct row row = {.count = 0};
  add_integer(&row, subscriber);
  tatp_write_number(row.values[row.count++], subscriber);
  for (int i = 0; i < BITS; i++) add_drawn(&row, random, 0, 1);
  for (int i = 0; i < BITS; i++) add_drawn(&row, random, 0, 15);
  for (int i = 0; i < BITS; i++) add_drawn(&row, random, 0, 255);
  for (int i = 0; i < 2; i++) add_drawn(&row, random, 1, UINT32_MAX);
  return send(bulk, &row);
}

/* As a set of bits: 1 to 4 of the types 1 to 4, each number of them equally likely. */
static unsigned draw_types(struct random *random) {
  unsigned set = 0;
  for (int64_t missing = random_uniform(random, 1, TYPES); missing > 0;) {
    const unsigned drawn = 1u << random_uniform(random, 1, TYPES);
    if (set & drawn) continue;
    set |= drawn;
    missing--;
  }
  return set;
}

static enum db_result load_access_info(struct db_bulk *bulk, struct random *random, int64_t subscriber) {
  const unsigned set = draw_types(random);
  for (int type = 1; type <= TYPES; type++) {
    if (!(set & 1u << type)) continue;
    struct row row = {.count = 0};
    add_integer(&row, subscriber);
    add_integer(&row, type);
    add_drawn(&row, random, 0, 255);
    add_drawn(&row, random, 0, 255);
    add_letters(&row, random, 3);
    add_letters(&row, random, 5);
    TRY(send(bulk, &row));
  }
  return DB_OK;
}

static enum db_result load_facilities(struct db_bulk *bulk, struct random *random, int64_t subscriber) {
  const unsigned set = draw_types(random);
  for (int type = 1; type <= TYPES; type++) {
    if (!(set & 1u << type)) continue;
    struct row row = {.count = 0};
    add_integer(&row, subscriber);
    add_integer(&row, type);
    add_integer(&row, random_unit(random) < 0.85);
    add_drawn(&row, random, 0, 255);
    add_drawn(&row, random, 0, 255);
    add_letters(&row, random, 5);
    TRY(send(bulk, &row));
  }
  return DB_OK;
}

static enum db_result load_forwarding(struct db_bulk *bulk, struct random *random, int64_t subscriber, int type,
                                      int start_time) {
  struct row row = {.count = 0};
  add_integer(&row, subscriber);
  add_integer(&row, type);
  add_integer(&row, start_time);
  add_integer(&row, start_time + random_uniform(random, 1, 8));
  tatp_write_number(row.values[row.count++], random_uniform(random, 1, INT64_C(999999999999999)));
  return send(bulk, &row);
}

/* For each facility 0 to 3 of the start times 0, 8 and 16. REQUIRES: random numbers as load_facilities had them, so
 * that the same facilities are drawn again. */
static enum db_result load_forwardings(struct db_bulk *bulk, struct random *random, int64_t subscriber) {
  const unsigned set = draw_types(random);
  for (int type = 1; type <= TYPES; type++) {
    if (!(set & 1u << type)) continue;
    int64_t missing = random_uniform(random, 0, START_TIMES);
    for (int i = 0; i < START_TIMES; i++) {
      if (random_uniform(random, 1, START_TIMES - i) > missing) continue;
      TRY(load_forwarding(bulk, random, subscriber, type, 8 * i));
      missing--;
    }
  }
  return DB_OK;
}

static const struct table {
  const char *name;
  uint64_t stream; /* of random numbers */
  const char *columns;
  size_t column_count;
  enum db_result (*load)(struct db_bulk *bulk, struct random *random, int64_t subscriber);
} tables[] = {
    {"subscriber", 0,
     "s_id, sub_nbr, bit_1, bit_2, bit_3, bit_4, bit_5, bit_6, bit_7, bit_8, bit_9, bit_10, hex_1, hex_2, hex_3, "
     "hex_4, "
     "hex_5, hex_6, hex_7, hex_8, hex_9, hex_10, byte2_1, byte2_2, byte2_3, byte2_4, byte2_5, byte2_6, byte2_7, "
     "byte2_8, "
     "byte2_9, byte2_10, msc_location, vlr_location",
     SUBSCRIBER_COLUMNS, load_subscriber},
    {"access_info", 1, "s_id, ai_type, data1, data2, data3, data4", 6, load_access_info},
    {"special_facility", 2, "s_id, sf_type, is_active, error_cntrl, data_a, data_b", 6, load_facilities},
    {"call_forwarding", 2, "s_id, sf_type, start_time, end_time, numberx", 5, load_forwardings},
};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

static enum db_result load(struct db *db, const struct load_options *options, const struct table *table) {
  struct db_bulk *bulk = db_bulk_begin(db, table->name, table->columns, table->column_count);
  if (!bulk) return DB_FAILED;
  for (int64_t subscriber = 1; subscriber <= tatp_subscribers(options); subscriber++) {
    struct random random;
    random_seed(&random, options->seed, 3 * (uint64_t)subscriber + table->stream);
    if (table->load(bulk, &random, subscriber) != DB_OK) break; /* db_bulk_end says why */
  }
  TRY(db_bulk_end(bulk));
  return tables_analyze(db, table->name);
}

static enum db_result create(struct db *db, const struct load_options *options) {
  TRY(tables_run(db, statements, sizeof statements / sizeof *statements));
  for (int i = 0; i < TABLE_COUNT; i++) TRY(load(db, options, &tables[i]));
  return DB_OK;
}

int tatp_setup(const struct load_options *options) {
  struct db *db = tables_open(options);
  return db ? tables_close(db, create(db, options)) : -1;
}

int tatp_begin(const struct load_options *options) {
  return tables_expect(options, "tatp", "SELECT count(*) FROM subscriber", tatp_subscribers(options));
}

/* Transactions change forwardings only, and never so that one has no facility. */
int tatp_check(const struct load_options *options) {
  const int64_t n = tatp_subscribers(options);
  const struct condition conditions[] = {
      {"no subscriber is lost", "SELECT count(*) FROM subscriber", n, n},
      {"numbers are the subscribers'",
       "SELECT count(*) FROM subscriber WHERE sub_nbr <> lpad(CAST(s_id AS char(15)), 15, '0')", 0, 0},
      {"every subscriber has access information", "SELECT count(DISTINCT s_id) FROM access_info", n, n},
      {"every subscriber has a facility", "SELECT count(DISTINCT s_id) FROM special_facility", n, n},
      {"a facility has at most three forwardings",
       "SELECT count(*) FROM (SELECT 1 FROM call_forwarding GROUP BY s_id, sf_type HAVING count(*) > 3) AS many", 0, 0},
      {"forwardings begin at 0, 8 or 16 and end at 1 to 24",
       "SELECT count(*) FROM call_forwarding WHERE start_time NOT IN (0, 8, 16) OR end_time NOT BETWEEN 1 AND 24", 0,
       0},
  };
  return tables_check(options, conditions, sizeof conditions / sizeof *conditions);
}
