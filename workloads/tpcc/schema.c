/* The nine tables (clause 1.3) and their indexes, in SQL that PostgreSQL, MariaDB and MySQL all understand. */
#include <stdio.h>

#include "tpcc.h"

#define ADDRESS(prefix)                                                                    \
  prefix "street_1 varchar(20) NOT NULL, " prefix "street_2 varchar(20) NOT NULL, " prefix \
         "city varchar(20) NOT NULL, " prefix "state char(2) NOT NULL, " prefix "zip char(9) NOT NULL, "

/* Primary keys begin with the warehouse and the district, because InnoDB stores rows in their order: those of a
 * district lie together. %s: the type of a date and time. */
static const char *const tables[] = {
    "CREATE TABLE warehouse (w_id int NOT NULL, w_name varchar(10) NOT NULL, " ADDRESS("w_")
    "w_tax decimal(4,4) NOT NULL, w_ytd decimal(12,2) NOT NULL, PRIMARY KEY (w_id))",

    "CREATE TABLE district (d_id int NOT NULL, d_w_id int NOT NULL, d_name varchar(10) NOT NULL, " ADDRESS("d_")
    "d_tax decimal(4,4) NOT NULL, d_ytd decimal(12,2) NOT NULL, d_next_o_id int NOT NULL, "
    "PRIMARY KEY (d_w_id, d_id))",

    "CREATE TABLE customer (c_id int NOT NULL, c_d_id int NOT NULL, c_w_id int NOT NULL, "
    "c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL, " ADDRESS("c_")
    "c_phone char(16) NOT NULL, c_since %s NOT NULL, c_credit char(2) NOT NULL, c_credit_lim decimal(12,2) NOT NULL, "
    "c_discount decimal(4,4) NOT NULL, c_balance decimal(12,2) NOT NULL, c_ytd_payment decimal(12,2) NOT NULL, "
    "c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, c_data varchar(500) NOT NULL, "
    "PRIMARY KEY (c_w_id, c_d_id, c_id))",

    /* The one table without a key: a customer may pay the same twice within a second. */
    "CREATE TABLE history (h_c_id int NOT NULL, h_c_d_id int NOT NULL, h_c_w_id int NOT NULL, h_d_id int NOT NULL, "
    "h_w_id int NOT NULL, h_date %s NOT NULL, h_amount decimal(6,2) NOT NULL, h_data varchar(24) NOT NULL)",

    "CREATE TABLE new_order (no_o_id int NOT NULL, no_d_id int NOT NULL, no_w_id int NOT NULL, "
    "PRIMARY KEY (no_w_id, no_d_id, no_o_id))",

    "CREATE TABLE orders (o_id int NOT NULL, o_d_id int NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL, "
    "o_entry_d %s NOT NULL, o_carrier_id int, o_ol_cnt int NOT NULL, o_all_local int NOT NULL, "
    "PRIMARY KEY (o_w_id, o_d_id, o_id))",

    "CREATE TABLE order_line (ol_o_id int NOT NULL, ol_d_id int NOT NULL, ol_w_id int NOT NULL, "
    "ol_number int NOT NULL, ol_i_id int NOT NULL, ol_supply_w_id int NOT NULL, ol_delivery_d %s NULL, "
    "ol_quantity int NOT NULL, ol_amount decimal(6,2) NOT NULL, ol_dist_info char(24) NOT NULL, "
    "PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",

    "CREATE TABLE item (i_id int NOT NULL, i_im_id int NOT NULL, i_name varchar(24) NOT NULL, "
    "i_price decimal(5,2) NOT NULL, i_data varchar(50) NOT NULL, PRIMARY KEY (i_id))",

    "CREATE TABLE stock (s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int NOT NULL, "
    "s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL, "
    "s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL, "
    "s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL, "
    "s_dist_10 char(24) NOT NULL, s_ytd decimal(8,0) NOT NULL, s_order_cnt int NOT NULL, "
    "s_remote_cnt int NOT NULL, s_data varchar(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id))",
};
enum { TABLE_COUNT = sizeof tables / sizeof *tables };

#define ALL_TABLES "warehouse, district, customer, history, new_order, orders, order_line, item, stock"

enum db_result tpcc_create_tables(struct db *db) {
  /* MariaDB's timestamp would be set anew by each change of its row. */
  const char *time = db_kind(db) == DB_POSTGRES ? "timestamp" : "datetime";
  TRY(db_run(db, "DROP TABLE IF EXISTS " ALL_TABLES));
  for (int i = 0; i < TABLE_COUNT; i++) {
    char sql[2000];
    snprintf(sql, sizeof sql, tables[i], time);
    TRY(db_run(db, sql));
  }
  return DB_OK;
}

enum db_result tpcc_create_indexes(struct db *db) {
  TRY(db_run(db, "CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)"));
  return db_run(db, "CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)");
}

/* Without it the first minutes would be those of a planner that knows nothing of its tables. */
enum db_result tpcc_analyze_tables(struct db *db) {
  return db_run(db, db_kind(db) == DB_POSTGRES ? "VACUUM ANALYZE " ALL_TABLES : "ANALYZE TABLE " ALL_TABLES);
}
