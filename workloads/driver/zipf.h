/* Ranks by Zipf's law: rank k of 1 .. n is drawn in proportion to k to the power of -theta.
 *
 * By rejection-inversion (Hoermann and Derflinger 1996): exact for every n and theta >= 0, without tables.
 */
#ifndef VPROF_ZIPF_H
#define VPROF_ZIPF_H

#include <stdint.h>

#include "random.h"

struct zipf {
  int64_t count; /* n */
  double theta;
  double first; /* where the area that is drawn from begins: that of rank 1 */
  double last;  /* and where it ends */
  double sure;  /* a rank this close to what was drawn needs no second look */
};

void zipf_init(struct zipf *zipf, int64_t count, double theta);
int64_t zipf_draw(const struct zipf *zipf, struct random *random);
/* A number of 0 .. count - 1 for each rank, one to one, so that popular ones are not neighbours. REQUIRES: count is at
 * most 1e9. */
int64_t zipf_scatter(int64_t rank, int64_t count);

#endif
