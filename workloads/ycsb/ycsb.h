/* YCSB: one table of records with ten fields, read, updated, inserted and scanned by keys of Zipf's law.
 *
 * The k-th record's key is "user" and 12 digits of k. Ranks of Zipf's law are scattered over the records of `setup`;
 * what is inserted afterwards is read by scans only.
 */
#ifndef VPROF_YCSB_H
#define VPROF_YCSB_H

#include "workload.h"

enum { YCSB_FIELDS = 10, YCSB_FIELD_BYTES = 100, YCSB_KEY_SIZE = 32 };

int64_t ycsb_records(const struct load_options *options);
void ycsb_write_key(char *key, int64_t number);
/* A field's value: printable characters, and a 0. */
void ycsb_fill(char *field, struct random *random);

int ycsb_setup(const struct load_options *options);
int ycsb_check(const struct load_options *options);

#endif
