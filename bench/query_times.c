/* How long each statement of the load driver takes at its server, for reorder_tpcc.py. The linker puts it around the
 * functions that send statements (--wrap); at the end it writes a line for each text to $QUERY_TIMES: how often, the
 * sum of the times in us and of their squares, the text. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "db.h"

enum { MOST = 200 };
static struct {
  const char *sql;
  long count;
  double us, us2;
} all[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void add(const char *sql, double us) {
  pthread_mutex_lock(&mutex);
  int at = 0;
  while (at < MOST && all[at].sql && all[at].sql != sql) at++;
  if (at < MOST) {
    all[at].sql = sql;
    all[at].count++;
    all[at].us += us;
    all[at].us2 += us * us;
  }
  pthread_mutex_unlock(&mutex);
}

#define WRAPPED(function)                                                                           \
  enum db_result __real_##function(struct db *db, const char *sql, const struct db_value *values);  \
  enum db_result __wrap_##function(struct db *db, const char *sql, const struct db_value *values) { \
    const double begin = now_us();                                                                  \
    const enum db_result result = __real_##function(db, sql, values);                               \
    add(sql, now_us() - begin);                                                                     \
    return result;                                                                                  \
  }
WRAPPED(db_execute_values)
WRAPPED(db_one_values)
WRAPPED(db_query_values)

__attribute__((destructor)) static void write_all(void) {
  const char *name = getenv("QUERY_TIMES");
  FILE *out = name ? fopen(name, "w") : NULL;
  if (!out) return;
  for (int at = 0; at < MOST && all[at].sql; at++)
    fprintf(out, "%ld\t%.17g\t%.17g\t%s\n", all[at].count, all[at].us, all[at].us2, all[at].sql);
  fclose(out);
}
