#include "progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "client.h"
#include "clock.h"

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* How late the newest start was; or, if clients have begun nothing since, how long the next one has been due. */
static int64_t behind_ns(struct run *run) {
  int64_t behind = 0;
  if (run->options->rate <= 0) return 0;
  for (int i = 0; i < run->thread_count; i++) behind = larger(behind, run->threads[i].behind_ns);
  return larger(behind, now_ns() - arrivals_peek(&run->arrivals));
}

static struct progress_counts add_up(const struct run *run) {
  struct progress_counts sum = {0};
  for (int i = 0; i < run->thread_count; i++) {
    sum.finished += run->threads[i].finished;
    sum.failed += run->threads[i].failed;
    sum.retries += run->threads[i].retries;
  }
  return sum;
}

void progress_tell(struct progress *progress, struct run *run) {
  const int64_t now = now_ns();
  if (!progress->next_ns) progress->next_ns = run->first_ns + NS_PER_S;
  if (now < progress->next_ns) return;
  const struct progress_counts counts = add_up(run), *told = &progress->told;
  fprintf(stderr, "%.0f %" PRId64 " %" PRId64 " %" PRId64 " %.1f\n", (double)(now - run->begin_ns) / 1e9,
          counts.finished - told->finished, counts.failed - told->failed, counts.retries - told->retries,
          (double)behind_ns(run) / 1e6);
  progress->told = counts;
  progress->next_ns += NS_PER_S;
}
