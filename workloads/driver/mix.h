/* Which type of transaction is how likely. */
#ifndef VPROF_LOAD_MIX_H
#define VPROF_LOAD_MIX_H

#include "workload.h"

enum { MIX_MAX_TYPES = 32 };

struct mix {
  double up_to[MIX_MAX_TYPES]; /* sums of the weights, the last is 1 */
  size_t type_count;
};

/* `text` is "read=50,update=50", or NULL for the workload's own weights; a type that it leaves out has none. Returns
 * NULL, or what is wrong with it. */
const char *mix_parse(struct mix *mix, const struct workload *workload, const char *text);
/* The index of a type. */
size_t mix_draw(const struct mix *mix, struct random *random);

#endif
