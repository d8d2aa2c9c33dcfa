/* What a workload is to the driver: its tables and their rows, its types of transaction, and how one of them is done.
 */
#ifndef VPROF_WORKLOAD_H
#define VPROF_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "load_types.h"
#include "random.h"

/* What `setup`, `run` and `check` were told. Options that a workload does not know are an error before anything runs.
 */
struct load_options {
  struct db_address server;
  const char *isolation; /* "read committed", "repeatable read", "serializable"; NULL: the server's own */
  int64_t scale;         /* warehouses, thousands of subscribers or of rows */
  uint64_t seed;
  int clients;
  double theta;    /* Zipf's exponent, of the workloads that have one */
  double writes;   /* the share of statements that write, of the workloads that have one */
  const char *mix; /* "read=50,update=50": weights of types, which the driver draws; NULL: the workload's own */
};

/* How one transaction ended, after all its tries. */
enum outcome {
  OUTCOME_COMMITTED = 0,
  OUTCOME_ROLLED_BACK = 1, /* by its own rule: 1 % of TPC-C's new orders */
  OUTCOME_GAVE_UP = 2,     /* still a deadlock or a serialization failure after the last try */
  OUTCOME_FAILED = 3,      /* an error that a repetition does not mend; db_error() says which */
  OUTCOME_UNFINISHED = 4,  /* the run ended, or the server died, meanwhile */
};

/* What a client has of its own while it runs: its connection, its random numbers, a workload's own things. */
struct client {
  struct db *db;
  struct random random;
  const struct load_options *options;
  int number;       /* 0 .. options->clients - 1 */
  const char *type; /* the name of what is being tried */
  void *own;        /* of the workload: from `begin_client`, freed by `end_client` */
};

/* One try of one transaction. DB_RETRY: the driver repeats it with the same `arguments`, and its time goes on. */
typedef enum db_result (*transaction_fn)(struct client *client, void *arguments, enum outcome *outcome);

/* The name of a type, which does not compile if servers do not know it (load_types.h). */
#define TYPE_NAME(name) (&#name[0 * TYPE_##name])
#define TYPE_NUMBER(name) TYPE_##name,
enum { VPROF_LOAD_TYPES(TYPE_NUMBER) };

struct transaction_type {
  const char *name;                                       /* TYPE_NAME(...) */
  double weight;                                          /* of the workload's own mix */
  size_t arguments_size;                                  /* bytes that `choose` fills */
  void (*choose)(struct client *client, void *arguments); /* draws the inputs, once for all tries; may be NULL */
  transaction_fn run;
};

struct workload {
  const char *name;
  const char *summary; /* one line for --help */
  const struct transaction_type *types;
  size_t type_count;
  double theta;  /* Zipf's exponent unless --theta gives another; 0: it has none, and --theta is an error */
  double writes; /* the same of --writes */
  int64_t scale; /* unless --scale gives another; 0: 1 */
  /* Creates tables and rows; what is there already is replaced. 0, or -1 with the reason printed to stderr. */
  int (*setup)(const struct load_options *options);
  /* Fails with a reason if the database is not one that setup made, or of another scale. May be NULL. */
  int (*begin)(const struct load_options *options);
  /* 0, or -1 with the reason in db_error(client->db). May be NULL. Called again after a connection was lost. */
  int (*begin_client)(struct client *client);
  void (*end_client)(struct client *client); /* may be NULL */
  /* Consistency after a run: prints a line per condition, "ok NAME" or "FAILED NAME: what", and returns how many
   * failed; -1: could not be checked. */
  int (*check)(const struct load_options *options);
};

extern const struct workload noop_workload, tpcc_workload, tatp_workload, ycsb_workload, zipf_locks_workload;

#endif
