/* Two tracepoints with one number each, as a pair of enter and leave. Included several times by LTTng's headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER vprof_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "peers_lttng.h"

#if !defined(VPROF_BENCH_PEERS_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define VPROF_BENCH_PEERS_LTTNG_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(vprof_bench, enter, LTTNG_UST_TP_ARGS(int, site),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(vprof_bench, leave, LTTNG_UST_TP_ARGS(int, site),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, site, site)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
