#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "workloads.h"

static const char usage[] =
    "usage: vprof-load-driver setup WORKLOAD --on postgres|mysql --socket S [options]\n"
    "       vprof-load-driver run   WORKLOAD --on ... --socket S --latencies FILE --clients N --seconds S [options]\n"
    "       vprof-load-driver check WORKLOAD --on ... --socket S [options]\n"
    "       vprof-load-driver list\n"
    "  --socket S        PostgreSQL: the folder of its socket, or HOST:PORT; MariaDB and MySQL: the socket\n"
    "  --user U          the server's user (the system's)\n"
    "  --database D      (vprof)\n"
    "  --scale N         warehouses, thousands of subscribers or of rows (1; zipf_locks 20)\n"
    "  --seed N          of the random numbers (1)\n"
    "  --theta T         exponent of Zipf's law, of the workloads that have one (ycsb 0.99, zipf_locks 0.8)\n"
    "  --writes SHARE    of the statements of zipf_locks (0.6)\n"
    "run:\n"
    "  --latencies FILE  where the latencies go\n"
    "  --clients N       connections, each with a thread\n"
    "  --seconds S       how long what counts lasts\n"
    "  --warmup S        before that (0)\n"
    "  --rate R          transactions that begin per second, however long they take; without it each client begins\n"
    "                    its next when its last has ended\n"
    "  --arrivals A      poisson or even, with --rate (poisson)\n"
    "  --think MS        mean pause of a client between transactions, without --rate (0)\n"
    "  --isolation L     'read committed', 'repeatable read' or 'serializable' (the server's own)\n"
    "  --mix A=45,B=55   weights of the types of transaction (the workload's own)\n"
    "  --tries N         of a transaction that deadlocks or cannot be serialized (10)\n"
    "  --progress        a line each second to stderr: SECONDS FINISHED FAILED RETRIES BEHIND_MS\n"
    "  --dry-run         says whether these options fit, and runs nothing\n";

enum {
  OPTION_ON = 256,
  OPTION_SOCKET,
  OPTION_USER,
  OPTION_DATABASE,
  OPTION_SCALE,
  OPTION_SEED,
  OPTION_THETA,
  OPTION_WRITES,
  OPTION_LATENCIES,
  OPTION_CLIENTS,
  OPTION_SECONDS,
  OPTION_WARMUP,
  OPTION_RATE,
  OPTION_ARRIVALS,
  OPTION_THINK,
  OPTION_ISOLATION,
  OPTION_MIX,
  OPTION_TRIES,
  OPTION_PROGRESS,
  OPTION_DRY_RUN,
  OPTION_HELP,
};

static const struct option long_options[] = {
    {"on", required_argument, NULL, OPTION_ON},
    {"socket", required_argument, NULL, OPTION_SOCKET},
    {"user", required_argument, NULL, OPTION_USER},
    {"database", required_argument, NULL, OPTION_DATABASE},
    {"scale", required_argument, NULL, OPTION_SCALE},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"theta", required_argument, NULL, OPTION_THETA},
    {"writes", required_argument, NULL, OPTION_WRITES},
    {"latencies", required_argument, NULL, OPTION_LATENCIES},
    {"clients", required_argument, NULL, OPTION_CLIENTS},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"warmup", required_argument, NULL, OPTION_WARMUP},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"arrivals", required_argument, NULL, OPTION_ARRIVALS},
    {"think", required_argument, NULL, OPTION_THINK},
    {"isolation", required_argument, NULL, OPTION_ISOLATION},
    {"mix", required_argument, NULL, OPTION_MIX},
    {"tries", required_argument, NULL, OPTION_TRIES},
    {"progress", no_argument, NULL, OPTION_PROGRESS},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void complain_with(const char *format, va_list arguments) {
  char line[1024];
  vsnprintf(line, sizeof line, format, arguments);
  fprintf(stderr, "vprof-load-driver: %s\n", line);
}

void complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  complain_with(format, arguments);
  va_end(arguments);
}

__attribute__((format(printf, 1, 2))) _Noreturn static void fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  complain_with(format, arguments);
  va_end(arguments);
  exit(2);
}

static uint64_t parse_whole(const char *option, const char *text, uint64_t low, uint64_t high) {
  char *end;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value < low || value > high) {
    fail("--%s %s: must be a whole number from %llu to %llu", option, text, (unsigned long long)low,
         (unsigned long long)high);
  }
  return value;
}

static double parse_number(const char *option, const char *text, double low, double high) {
  char *end;
  const double value = strtod(text, &end);
  if (end == text || *end || !(value >= low && value <= high)) {
    fail("--%s %s: must be a number from %g to %g", option, text, low, high);
  }
  return value;
}

/* The index of `text` among words that a | separates. */
static int parse_word(const char *option, const char *text, const char *const *words, int count) {
  for (int i = 0; i < count; i++) {
    if (strcmp(text, words[i]) == 0) return i;
  }
  char wanted[100] = "";
  for (int i = 0; i < count; i++) {
    strcat(wanted, i == 0 ? "" : i == count - 1 ? " or " : ", ");
    strcat(wanted, words[i]);
  }
  fail("--%s %s: must be %s", option, text, wanted);
}

static const char *parse_isolation(const char *text) {
  static const char *const levels[] = {"read committed", "repeatable read", "serializable"};
  return levels[parse_word("isolation", text, levels, 3)];
}

static void parse_run_option(struct driver_options *options, int option) {
  static const char *const arrivals[] = {"poisson", "even"};
  switch (option) {
    case OPTION_LATENCIES:
      options->latencies = optarg;
      break;
    case OPTION_CLIENTS:
      options->load.clients = (int)parse_whole("clients", optarg, 1, 10000);
      break;
    case OPTION_SECONDS:
      options->seconds = parse_number("seconds", optarg, 0.001, 1e7);
      break;
    case OPTION_WARMUP:
      options->warmup = parse_number("warmup", optarg, 0, 1e7);
      break;
    case OPTION_RATE:
      options->rate = parse_number("rate", optarg, 0.001, 1e7);
      break;
    case OPTION_ARRIVALS:
      options->even = parse_word("arrivals", optarg, arrivals, 2) == 1;
      break;
    case OPTION_THINK:
      options->think_ms = parse_number("think", optarg, 0, 1e7);
      break;
    case OPTION_TRIES:
      options->tries = (int)parse_whole("tries", optarg, 1, 10000);
      break;
    case OPTION_ISOLATION:
      options->load.isolation = parse_isolation(optarg);
      break;
    case OPTION_MIX:
      options->load.mix = optarg;
      break;
    case OPTION_DRY_RUN:
      options->dry_run = true;
      break;
    default: /* OPTION_PROGRESS */
      options->progress = true;
  }
}

static void parse_option(struct driver_options *options, int option) {
  static const char *const kinds[] = {"postgres", "mysql"};
  switch (option) {
    case OPTION_ON:
      options->load.server.kind = parse_word("on", optarg, kinds, 2) == 0 ? DB_POSTGRES : DB_MYSQL;
      break;
    case OPTION_SOCKET:
      options->load.server.socket = optarg;
      break;
    case OPTION_USER:
      options->load.server.user = optarg;
      break;
    case OPTION_DATABASE:
      options->load.server.database = optarg;
      break;
    case OPTION_SCALE:
      options->load.scale = (int64_t)parse_whole("scale", optarg, 1, 1000000);
      break;
    case OPTION_SEED:
      options->load.seed = parse_whole("seed", optarg, 0, UINT64_MAX);
      break;
    case OPTION_THETA:
      options->load.theta = parse_number("theta", optarg, 0, 10);
      break;
    case OPTION_WRITES:
      options->load.writes = parse_number("writes", optarg, 0, 1);
      break;
    case OPTION_HELP:
      fputs(usage, stdout);
      exit(0);
    case '?': /* getopt has said what is wrong */
      exit(2);
    default:
      if (options->command != COMMAND_RUN) fail("--%s goes with run only", long_options[option - OPTION_ON].name);
      parse_run_option(options, option);
  }
}

static enum command parse_command(const char *text) {
  static const char *const commands[] = {"setup", "run", "check", "list"};
  for (int i = 0; i < 4; i++) {
    if (text && strcmp(text, commands[i]) == 0) return (enum command)i;
  }
  if (text && strcmp(text, "--help") == 0) {
    fputs(usage, stdout);
    exit(0);
  }
  fail("the first argument must be setup, run, check or list, see vprof-load-driver --help");
}

static const struct workload *parse_workload(const char *text) {
  if (text && strcmp(text, "--help") == 0) {
    fputs(usage, stdout);
    exit(0);
  }
  if (!text || *text == '-') fail("which workload? vprof-load-driver list names them");
  const struct workload *workload = workload_find(text);
  if (!workload) fail("there is no workload '%s': vprof-load-driver list names them", text);
  return workload;
}

/* What must be there, and what must not be together. */
static void check_run(const struct driver_options *options, bool arrivals, bool think) {
  if (!options->latencies) fail("run needs --latencies");
  if (!options->load.clients) fail("run needs --clients");
  if (options->seconds <= 0) fail("run needs --seconds");
  if (arrivals && options->rate <= 0) fail("--arrivals needs --rate");
  if (think && options->rate > 0) fail("--think and --rate exclude each other");
}

static void check_mix(const struct driver_options *options) {
  const struct workload *workload = options->workload;
  struct mix mix;
  const char *wrong = mix_parse(&mix, workload, options->load.mix);
  if (!wrong) return;
  char known[400] = "";
  for (size_t i = 0; i < workload->type_count; i++) {
    strcat(known, i ? ", " : "");
    strcat(known, workload->types[i].name);
  }
  fail("--mix %s: %s; the types of %s are %s", options->load.mix, wrong, workload->name, known);
}

static void parse_options(struct driver_options *options, int argc, char **argv) {
  bool seen[OPTION_HELP + 1] = {false};
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    parse_option(options, option);
    seen[option] = true;
  }
  if (optind < argc) fail("'%s' is not an option, see vprof-load-driver --help", argv[optind]);
  if (!seen[OPTION_ON]) fail("--on is missing: postgres or mysql");
  if (!options->load.server.socket) fail("--socket is missing");
  if (seen[OPTION_THETA] && options->workload->theta <= 0)
    fail("--theta: %s has none, leave it out", options->workload->name);
  if (seen[OPTION_WRITES] && options->workload->writes <= 0)
    fail("--writes: %s has none, leave it out", options->workload->name);
  if (options->command == COMMAND_RUN) check_run(options, seen[OPTION_ARRIVALS], seen[OPTION_THINK]);
  if (options->command == COMMAND_RUN) check_mix(options);
}

struct driver_options options_parse(int argc, char **argv) {
  struct driver_options options = {.load = {.server = {.database = "vprof"}, .scale = 1, .seed = 1}, .tries = 10};
  options.command = parse_command(argc > 1 ? argv[1] : NULL);
  if (options.command == COMMAND_LIST) {
    if (argc > 2) fail("list takes no arguments");
    return options;
  }
  options.workload = parse_workload(argc > 2 ? argv[2] : NULL);
  options.load.theta = options.workload->theta;
  options.load.writes = options.workload->writes;
  if (options.workload->scale) options.load.scale = options.workload->scale;
  static char name[] = "vprof-load-driver";
  argv[2] = name; /* getopt's messages begin with it */
  parse_options(&options, argc - 2, argv + 2);
  return options;
}
