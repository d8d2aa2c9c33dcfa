#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_WORKERS = 4 };

static const char usage[] =
    "usage: minidb [options]\n"
    "A small transaction engine under its own load, with variance planted on request.\n"
    "  --seconds S       how long to run (5); SIGINT and SIGTERM end the run early\n"
    "  --clients N       client threads in a closed loop (4)\n"
    "  --workers N       worker threads (4; with --pathology workers 1)\n"
    "  --pathology NAME  none, lock, wal, lru, workers, rare, pair or types (none)\n"
    "  --amount PERCENT  of the planted work (100)\n"
    "  --seed N          of the requests and the planted work (1)\n"
    "  --rows N          accounts in the table (20000)\n"
    "  --lock-policy NAME  who gets a row that comes free: " LOCK_POLICY_NAMES
    " (fifo)\n"
    "example: minidb --seconds 2 --pathology wal --seed 7\n";

static const struct option long_options[] = {
    {"seconds", required_argument, NULL, 's'}, {"clients", required_argument, NULL, 'c'},
    {"workers", required_argument, NULL, 'w'}, {"rows", required_argument, NULL, 'r'},
    {"seed", required_argument, NULL, 'e'},    {"pathology", required_argument, NULL, 'p'},
    {"amount", required_argument, NULL, 'a'},  {"lock-policy", required_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
};

_Noreturn static void fail(const char *option, const char *text, const char *wanted) {
  fprintf(stderr, "minidb: --%s %s: must be %s\n", option, text, wanted);
  exit(2);
}

static uint64_t parse_number(const char *option, const char *text, uint64_t low, uint64_t high) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value < low || value > high) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, "a whole number from %llu to %llu", (unsigned long long)low,
             (unsigned long long)high);
    fail(option, text, wanted);
  }
  return value;
}

static double parse_seconds(const char *text) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value > 0 && value <= 86400)) fail("seconds", text, "above 0 and at most 86400");
  return value;
}

static const struct pathology *parse_pathology(const char *text) {
  const struct pathology *pathology = pathology_find(text);
  if (!pathology) fail("pathology", text, "none, lock, wal, lru, workers, rare, pair or types");
  return pathology;
}

static const struct lock_policy *parse_lock_policy(const char *text) {
  const struct lock_policy *policy = lock_policy_find(text);
  if (!policy) fail("lock-policy", text, LOCK_POLICY_NAMES);
  return policy;
}

static void parse_one(struct options *options, int option) {
  switch (option) {
    case 's':
      options->seconds = parse_seconds(optarg);
      break;
    case 'c':
      options->clients = parse_number("clients", optarg, 1, 64);
      break;
    case 'w':
      options->engine.workers = parse_number("workers", optarg, 1, 64);
      break;
    case 'r':
      options->engine.rows = parse_number("rows", optarg, 100, 10000000);
      break;
    case 'e':
      options->engine.seed = parse_number("seed", optarg, 0, UINT64_MAX);
      break;
    case 'p':
      options->pathology = parse_pathology(optarg);
      break;
    case 'a':
      options->amount = parse_number("amount", optarg, 0, 1000);
      break;
    case 'k':
      options->engine.lock_policy = parse_lock_policy(optarg);
      break;
    case 'h':
      fputs(usage, stdout);
      exit(0);
    default: /* getopt has said what is wrong */
      exit(2);
  }
}

struct options options_parse(int argc, char **argv) {
  struct options options = {.seconds = 5,
                            .clients = 4,
                            .engine = {.rows = 20000, .seed = 1, .lock_policy = lock_policy_find("fifo")},
                            .amount = 100,
                            .pathology = pathology_find("none")};
  static char name[] = "minidb";
  argv[0] = name; /* getopt's messages begin with it */
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) parse_one(&options, option);
  if (optind < argc) {
    fprintf(stderr, "minidb: '%s' is not an option, see minidb --help\n", argv[optind]);
    exit(2);
  }
  if (!options.engine.workers) {
    options.engine.workers = options.pathology->workers ? options.pathology->workers : USUAL_WORKERS;
  }
  return options;
}
