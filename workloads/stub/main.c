/* vprof-load-stub: a server with known delays, to prove a load driver by: what it measures must be what was planted.
 *
 * It speaks PostgreSQL's protocol as far as the load `noop` needs it. Each connection has a thread. For each row asked
 * for it writes a line to the file of --truth: when the request came, when its answer was due, when it was sent (ns of
 * CLOCK_MONOTONIC). The first line is "epoch_ns N": stalls begin at N + k times their distance.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "delay.h"
#include "memory.h"
#include "protocol.h"

static const char usage[] =
    "usage: vprof-load-stub --socket DIR | --port P [--delay D] [--stall S] [--truth FILE] [--seed N]\n"
    "  --socket DIR  serves at DIR/.s.PGSQL.5432\n"
    "  --port P      serves at 127.0.0.1:P\n"
    "  --delay D     constant:2ms or lognormal:20ms:0.5, the median and the logarithm's standard deviation "
    "(constant:0ms)\n"
    "  --stall S     200ms/10s: each 10 s nothing goes on for 200 ms\n"
    "  --truth FILE  a line for each row: received, due and sent in ns of CLOCK_MONOTONIC\n"
    "  --seed N      of the delays (1)\n"
    "Says 'ready' when it serves; SIGINT and SIGTERM end it.\n";

static struct stub {
  struct delay delay;
  FILE *truth;
  uint64_t seed;
  atomic_bool stop; /* stays false: connections end with the program */
} stub = {.seed = 1};

struct connection {
  struct session session;
  struct random random;
};

static void delay_row(void *argument) {
  struct connection *connection = argument;
  const int64_t received_ns = now_ns();
  const int64_t due_ns = delay_due_ns(&stub.delay, &connection->random, received_ns);
  sleep_until_ns(due_ns, &stub.stop);
  if (stub.truth) fprintf(stub.truth, "%" PRId64 " %" PRId64 " %" PRId64 "\n", received_ns, due_ns, now_ns());
}

static void *serve(void *argument) {
  struct connection *connection = argument;
  clock_wake_precisely();
  session_serve(&connection->session);
  close(connection->session.descriptor);
  free(connection);
  return NULL;
}

_Noreturn static void fail(const char *what, const char *why) {
  fprintf(stderr, "vprof-load-stub: %s: %s\n", what, why);
  exit(1);
}

static int listen_at(int family, const struct sockaddr *address, socklen_t size, const char *name) {
  const int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  if (listener < 0) fail(name, strerror(errno));
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener, address, size) != 0 || listen(listener, 4096) != 0) fail(name, strerror(errno));
  return listener;
}

static int listen_in(const char *folder) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t size = sizeof address.sun_path;
  if ((size_t)snprintf(address.sun_path, size, "%s/.s.PGSQL.5432", folder) >= size) fail(folder, "too long");
  unlink(address.sun_path);
  return listen_at(AF_UNIX, (struct sockaddr *)&address, sizeof address, folder);
}

static int listen_on(const char *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return listen_at(AF_INET, (struct sockaddr *)&address, sizeof address, port);
}

static void *accept_all(void *argument) {
  const int listener = *(int *)argument, on = 1;
  for (uint64_t number = 0;; number++) {
    const int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (descriptor < 0) continue;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct connection *connection = allocate(1, sizeof *connection);
    connection->session.descriptor = descriptor;
    connection->session.before_row = delay_row;
    connection->session.argument = connection;
    random_seed(&connection->random, stub.seed, number);
    pthread_t thread;
    if (pthread_create(&thread, NULL, serve, connection) != 0) fail("a thread", "cannot be started");
    pthread_detach(thread);
  }
  return NULL;
}

static void parse_delay(const char *option, const char *text, const char *(*parse)(struct delay *, const char *)) {
  const char *wrong = parse(&stub.delay, text);
  if (!wrong) return;
  fprintf(stderr, "vprof-load-stub: --%s %s: %s\n", option, text, wrong);
  exit(2);
}

/* Returns the descriptor that listens. */
static int parse(int argc, char **argv) {
  static const struct option options[] = {
      {"socket", required_argument, NULL, 's'}, {"port", required_argument, NULL, 'p'},
      {"delay", required_argument, NULL, 'd'},  {"stall", required_argument, NULL, 't'},
      {"truth", required_argument, NULL, 'f'},  {"seed", required_argument, NULL, 'e'},
      {"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
  };
  int option, listener = -1;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (option == 's') listener = listen_in(optarg);
    if (option == 'p') listener = listen_on(optarg);
    if (option == 'd') parse_delay("delay", optarg, delay_parse);
    if (option == 't') parse_delay("stall", optarg, delay_parse_stall);
    if (option == 'f' && !(stub.truth = fopen(optarg, "we"))) fail(optarg, strerror(errno));
    if (option == 'e') stub.seed = strtoull(optarg, NULL, 10);
    if (option == 'h') fputs(usage, stdout);
    if (option == 'h' || option == '?') exit(option == 'h' ? 0 : 2);
  }
  if (listener >= 0 && optind == argc) return listener;
  fputs(usage, stderr);
  exit(2);
}

int main(int argc, char **argv) {
  sigset_t signals;
  int listener = parse(argc, argv), signal_number;
  pthread_t acceptor;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
  stub.delay.epoch_ns = now_ns();
  if (stub.truth) {
    fprintf(stub.truth, "epoch_ns %" PRId64 "\n", stub.delay.epoch_ns);
    fflush(stub.truth); /* who lays stalls over a run needs it before the run */
  }
  if (pthread_create(&acceptor, NULL, accept_all, &listener) != 0) fail("a thread", "cannot be started");
  printf("ready\n");
  fflush(stdout);
  sigwait(&signals, &signal_number);
  if (stub.truth) fflush(stub.truth);
  _exit(0); /* connections' threads may be about to write: what they write now is not the truth of a run any more */
}
