/* The file of latencies (workloads/README.md): each thread fills a block of its own, whole blocks are written.
 *
 * The first error of the disk is kept, and nothing is written after it: the file ends with a whole record.
 */
#ifndef VPROF_LOAD_LATENCY_FILE_H
#define VPROF_LOAD_LATENCY_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "workload.h"

enum { RECORDS_PER_BLOCK = 512 };

struct latency_record {
  int64_t intended_ns;
  int64_t start_ns; /* 0: never begun */
  int64_t end_ns;
  uint32_t type;
  uint16_t outcome;
  uint16_t tries;
};
_Static_assert(sizeof(struct latency_record) == 32, "as README.md says");

struct latency_block {
  size_t count;
  struct latency_record records[RECORDS_PER_BLOCK];
};

struct latency_file {
  pthread_mutex_t mutex; /* held while writing */
  int descriptor;
  int64_t written_bytes;
  atomic_int error; /* an errno; 0: none so far */
};

/* Returns 0, or an errno. May take long on a busy disk: before any time of the run is set. Who adds or flushes waits
 * until the same thread has called latency_file_begin.
 */
int latency_file_open(struct latency_file *file, const char *path);
void latency_file_begin(struct latency_file *file, const struct workload *workload, int64_t begin_ns);
/* Thread-safe, for different blocks. Writes the block once it is full. */
void latency_file_add(struct latency_file *file, struct latency_block *block, const struct latency_record *record);
void latency_file_flush(struct latency_file *file, struct latency_block *block);
/* Returns 0, or the errno of the first error there was. */
int latency_file_close(struct latency_file *file);

#endif
