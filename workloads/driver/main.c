/* vprof-load-driver: fills a database, puts a load on it, or checks it afterwards. */
#include <signal.h>

#include "options.h"
#include "run.h"
#include "workloads.h"

enum { EXIT_OK = 0, EXIT_ERROR = 1, EXIT_CHECK_FAILED = 4 };

static int check(const struct driver_options *options) {
  const int failed = options->workload->check(&options->load);
  return failed == 0 ? EXIT_OK : failed < 0 ? EXIT_ERROR : EXIT_CHECK_FAILED;
}

int main(int argc, char **argv) {
  const struct driver_options options = options_parse(argc, argv);
  signal(SIGPIPE, SIG_IGN); /* a server that has gone is an error of the connection */
  switch (options.command) {
    case COMMAND_SETUP:
      return options.workload->setup(&options.load) == 0 ? EXIT_OK : EXIT_ERROR;
    case COMMAND_RUN:
      return options.dry_run ? EXIT_OK : run_load(&options);
    case COMMAND_CHECK:
      return check(&options);
    default:
      workloads_list();
      return EXIT_OK;
  }
}
