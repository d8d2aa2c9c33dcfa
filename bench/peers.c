/* peers CALLS: prints the CPU nanoseconds per call of a function that does nothing (print_bursts), under the tool that
 * this file is compiled for (peers.py): what the compiler's flags insert, or -DPEER_HOOKS, -DPEER_XRAY=mode,
 * -DPEER_LTTNG. */
#include <stdio.h>
#include <stdlib.h>

#include "bursts.h"

#ifdef PEER_HOOKS
__attribute__((noinline, no_instrument_function)) void __cyg_profile_func_enter(void *function, void *site) {
  __asm__ volatile("" : : "r"(function), "r"(site));
}
__attribute__((noinline, no_instrument_function)) void __cyg_profile_func_exit(void *function, void *site) {
  __asm__ volatile("" : : "r"(function), "r"(site));
}
#endif

#ifdef PEER_XRAY
/* Of <xray/xray_interface.h>, <xray/xray_log_interface.h>, which are C++. */
int __xray_log_select_mode(const char *mode);
int __xray_log_init_mode(const char *mode, const char *config);
int __xray_patch(void);

static int start_tool(void) {
  const char *config = "func_duration_threshold_us=0:buffer_size=1048576:buffer_max=64:no_file_flush=true";
  enum { NO_ERROR = 0, INITIALIZED = 2, PATCHED = 1 };
  return __xray_log_select_mode(PEER_XRAY) == NO_ERROR && __xray_log_init_mode(PEER_XRAY, config) == INITIALIZED &&
         __xray_patch() == PATCHED;
}
#else
static int start_tool(void) {
  return 1;
}
#endif

#ifdef PEER_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#include "peers_lttng.h"
#define ENTER() lttng_ust_tracepoint(vprof_bench, enter, 1)
#define LEAVE() lttng_ust_tracepoint(vprof_bench, leave, 1)
#else
#define ENTER() (void)0
#define LEAVE() (void)0
#endif

__attribute__((noinline)) static void measured(void) {
  ENTER();
  __asm__ volatile("" ::: "memory");
  LEAVE();
}

int main(int argc, char **argv) {
  const long bursts = argc == 2 ? atol(argv[1]) / BURST : 0;
  if (bursts < 1) return 2;
  struct burst *results = calloc((size_t)bursts, sizeof *results);
  if (!start_tool()) return 1;
  measure_bursts(measured, bursts, results);
  print_bursts(results, bursts);
  return 0;
}
