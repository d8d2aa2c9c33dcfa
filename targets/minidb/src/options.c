#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_WORKERS = 4, USUAL_CLIENTS = 4, CONTENDING_CLIENTS = 400, MOST_THREADS = 1000 };

static const char usage[] =
    "usage: minidb [options]\n"
    "A small transaction engine under its own load, with variance planted on request.\n"
    "  --seconds S       how long to run (5); SIGINT and SIGTERM end the run early\n"
    "  --clients N       client threads (4; with --contention 400)\n"
    "  --workers N       worker threads (4; with --pathology workers 1; with --contention as many as clients)\n"
    "  --rate R          an open loop: R transactions a second arrive, by chance\n"
    "  --contention LEVEL  low, medium or high: statements lock hot rows, and sleep\n"
    "  --pathology NAME  none, lock, wal, lru, workers, rare, pair or types (none)\n"
    "  --amount PERCENT  of the planted work (100)\n"
    "  --stall-every N   the commit of one transaction in N stalls for 40 ms\n"
    "  --slow FILE       append the id and the ns of each transaction of more than 20 ms, and whether it stalled\n"
    "  --seed N          of the requests and the planted work (1)\n"
    "  --rows N          accounts in the table (20000)\n"
    "  --lock-policy NAME  who gets a row that comes free: " LOCK_POLICY_NAMES
    " (fifo)\n"
    "  --logs N          the log in N files, so that a commit finds one that nobody writes to (1)\n"
    "  --log-dir DIR     where these files are; what they have is recovered first (memory: no files)\n"
    "  --replies FILE    append the LSN, 8 bytes, of each commit that a client was told of\n"
    "  --recover         recover the log of --log-dir, say what it has, and end\n"
    "  --lru KIND        strict, or lazy: a thread that finds the LRU list busy touches its page later (strict)\n"
    "example: minidb --seconds 2 --pathology wal --seed 7\n";

/* clang-format off */
static const struct option long_options[] = {
    {"seconds", required_argument, NULL, 's'},
    {"clients", required_argument, NULL, 'c'},
    {"workers", required_argument, NULL, 'w'},
    {"rows", required_argument, NULL, 'r'},
    {"seed", required_argument, NULL, 'e'},
    {"pathology", required_argument, NULL, 'p'},
    {"amount", required_argument, NULL, 'a'},
    {"stall-every", required_argument, NULL, 'y'},
    {"slow", required_argument, NULL, 'f'},
    {"rate", required_argument, NULL, 'o'},
    {"contention", required_argument, NULL, 't'},
    {"lock-policy", required_argument, NULL, 'k'},
    {"logs", required_argument, NULL, 'l'},
    {"log-dir", required_argument, NULL, 'd'},
    {"replies", required_argument, NULL, 'i'},
    {"recover", no_argument, NULL, 'v'},
    {"lru", required_argument, NULL, 'u'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};
/* clang-format on */

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

static double parse_above_0(const char *option, const char *text, unsigned most) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !(value > 0 && value <= most)) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, "above 0 and at most %u", most);
    fail(option, text, wanted);
  }
  return value;
}

static const struct contention_level *parse_contention(const char *text) {
  const struct contention_level *level = contention_find(text);
  if (!level) fail("contention", text, "low, medium or high");
  return level;
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

static bool parse_lazy(const char *text) {
  bool lazy = strcmp(text, "lazy") == 0;
  if (!lazy && strcmp(text, "strict") != 0) fail("lru", text, "strict or lazy");
  return lazy;
}

static void parse_one(struct options *options, int option) {
  switch (option) {
    case 's':
      options->seconds = parse_above_0("seconds", optarg, 86400);
      break;
    case 'c':
      options->clients = parse_number("clients", optarg, 1, MOST_THREADS);
      break;
    case 'w':
      options->engine.workers = parse_number("workers", optarg, 1, MOST_THREADS);
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
    case 'y':
      options->stall_every = parse_number("stall-every", optarg, 1, 1000000000);
      break;
    case 'f':
      options->slow = optarg;
      break;
    case 'o':
      options->rate = parse_above_0("rate", optarg, 1000000);
      break;
    case 't':
      options->contention = parse_contention(optarg);
      break;
    case 'k':
      options->engine.lock_policy = parse_lock_policy(optarg);
      break;
    case 'l':
      options->engine.logs = parse_number("logs", optarg, 1, MAX_LOGS);
      break;
    case 'd':
      options->engine.log_folder = optarg;
      break;
    case 'i':
      options->replies = optarg;
      break;
    case 'v':
      options->recover = true;
      break;
    case 'u':
      options->engine.lazy_lru = parse_lazy(optarg);
      break;
    case 'h':
      fputs(usage, stdout);
      exit(0);
    default: /* getopt has said what is wrong */
      exit(2);
  }
}

static size_t usual_workers(const struct options *options) {
  if (options->pathology->workers) return options->pathology->workers;
  return options->contention ? options->clients : USUAL_WORKERS;
}

struct options options_parse(int argc, char **argv) {
  struct options options = {.seconds = 5,
                            .engine = {.rows = 20000, .seed = 1, .lock_policy = lock_policy_find("fifo"), .logs = 1},
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
  if (options.recover && !options.engine.log_folder) {
    fputs("minidb: --recover needs --log-dir\n", stderr);
    exit(2);
  }
  if (!options.clients) options.clients = options.contention ? CONTENDING_CLIENTS : USUAL_CLIENTS;
  if (!options.engine.workers) options.engine.workers = usual_workers(&options);
  return options;
}
