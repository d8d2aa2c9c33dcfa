// vprof-collector: see SESSION.md. All flags, printing and exit codes of the collector are here.
#include <getopt.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector.h"
#include "runner.h"

namespace vprof {
namespace {

constexpr const char *kUsage =
    "usage: vprof-collector --session DIR --output FILE [--slots N] [--ring-bytes N] [--user NAME] [--hold] [--locks]\n"
    "       [--max-bytes N [--newest]] [--compress zstd|lz4] [--probe-ps N] [--built-from TEXT]\n"
    "       [--offered-rate N] [-- COMMAND...]\n"
    "   or: vprof-collector --run PLAN [--output FILE] [...] -- COMMAND...\n"
    "\n"
    "Makes the session directory DIR, prints 'ready', and records the programs that run with VPROF_SESSION=DIR\n"
    "into FILE until 'stop' arrives on DIR/control, SIGTERM or SIGINT.\n"
    "\n"
    "  --slots N        threads recorded at one time (96)\n"
    "  --ring-bytes N   buffer per thread, a power of two from 4096 (524288)\n"
    "  --user NAME      whose programs may join, if not our own (needs root)\n"
    "  --max-bytes N    FILE ends when it has so many bytes, from 1048576\n"
    "  --newest         instead: FILE.000001, FILE.000002, ..., of which the newest are kept\n"
    "  --compress KIND  make FILE smaller, by zstd or lz4\n"
    "  --probe-ps N     picoseconds that a probe costs here: noted in the trace\n"
    "  --built-from TEXT  the programs' source and version: noted in the trace\n"
    "  --offered-rate N   the load begins N intervals a second, whatever became of others: noted in the trace\n"
    "  --hold           a starting program waits until its modules are acknowledged\n"
    "  --locks          record the steps of logical locks, too\n"
    "  --run PLAN       run COMMAND with a plan of `vprof bundle` on; DIR is made where there is room, FILE is "
    "run.trace\n"
    "  COMMAND          noted in the trace; without --run not run. If there is none, what VPROF_COMMAND says\n"
    "\n"
    "example: vprof-collector --session /dev/shm/run1 --output run.trace &\n"
    "         VPROF_SESSION=/dev/shm/run1 ./prog\n";

struct Options {
  SessionOptions session;
  std::string output;
  FileLimit limit;
  Compression compression = Compression::kNone;
  Noted noted;
  std::string plan;  // of --run
  char **command;
};

bool parse_number(const char *text, uint64_t least, uint64_t *value) {
  char *end;
  *value = strtoull(text, &end, 10);
  return *end == '\0' && *value >= least;
}

bool parse_power_of_two(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
  return parse_number(text, least, value) && *value <= most && (*value & (*value - 1)) == 0;
}

bool parse_rate(const char *text, double *rate) {
  char *end;
  *rate = strtod(text, &end);
  return *end == '\0' && *rate > 0 && *rate <= 1e12;
}

bool parse_slots(const char *text, uint32_t *slots) {
  char *end;
  const unsigned long n = strtoul(text, &end, 10);
  *slots = static_cast<uint32_t>(n);
  return *end == '\0' && n >= 1 && n <= 65536;
}

// Exit code: -1 to go on.
int parse_options(int argc, char **argv, Options *options) {
  static const option kOptions[] = {{"session", required_argument, nullptr, 's'},
                                    {"output", required_argument, nullptr, 'o'},
                                    {"slots", required_argument, nullptr, 'n'},
                                    {"ring-bytes", required_argument, nullptr, 'r'},
                                    {"user", required_argument, nullptr, 'u'},
                                    {"hold", no_argument, nullptr, 'h'},
                                    {"locks", no_argument, nullptr, 'l'},
                                    {"max-bytes", required_argument, nullptr, 'm'},
                                    {"newest", no_argument, nullptr, 'k'},
                                    {"compress", required_argument, nullptr, 'c'},
                                    {"probe-ps", required_argument, nullptr, 'p'},
                                    {"built-from", required_argument, nullptr, 'f'},
                                    {"offered-rate", required_argument, nullptr, 'a'},
                                    {"run", required_argument, nullptr, 'R'},
                                    {"help", no_argument, nullptr, '?'},
                                    {nullptr, 0, nullptr, 0}};
  bool valid = true;
  for (int c; (c = getopt_long(argc, argv, "+", kOptions, nullptr)) != -1;) {
    if (c == 's')
      options->session.directory = optarg;
    else if (c == 'o')
      options->output = optarg;
    else if (c == 'n')
      valid &= parse_slots(optarg, &options->session.slots);
    else if (c == 'r')
      valid &= parse_power_of_two(optarg, 4096, uint64_t{1} << 30, &options->session.ring_bytes);
    else if (c == 'u')
      options->session.user = optarg;
    else if (c == 'm')
      valid &= parse_number(optarg, 1 << 20, &options->limit.bytes);
    else if (c == 'k')
      options->limit.newest = true;
    else if (c == 'c')
      valid &= parse_compression(optarg, &options->compression);
    else if (c == 'p')
      valid &= parse_number(optarg, 0, &options->noted.probe_ps);
    else if (c == 'f')
      options->noted.built_from = optarg;
    else if (c == 'a')
      valid &= parse_rate(optarg, &options->noted.offered_rate);
    else if (c == 'h')
      options->session.hold = true;
    else if (c == 'R')
      options->plan = optarg;
    else if (c == 'l')
      options->session.lock_events = true;
    else
      valid = false;
  }
  options->command = argv + optind;
  options->noted.command.assign(argv + optind, argv + argc);
  if (!options->plan.empty()) {
    options->session.hold = true;
    valid &= optind < argc && options->session.user.empty();
    if (options->output.empty()) options->output = "run.trace";
  }
  const char *command = getenv("VPROF_COMMAND");
  if (command != nullptr && options->noted.command.empty()) options->noted.command = {command};
  valid &= !options->limit.newest || options->limit.bytes != 0;
  if (valid && !(options->session.directory.empty() && options->plan.empty()) && !options->output.empty()) return -1;
  fputs(kUsage, stderr);
  return 2;
}

volatile sig_atomic_t g_asked_to_end = 0;

void ask_to_end(int) {
  g_asked_to_end = 1;
}

// The user of a session can cut its files short. What was recorded stays, as after kill -9.
void end_without_memory(int) {
  static const char kText[] = "vprof-collector: the session's files were cut short: the trace ends here\n";
  if (write(STDERR_FILENO, kText, sizeof kText - 1) < 0) _exit(1);
  _exit(1);
}

// SIGTERM and SIGINT arrive only while waiting; returns the mask to wait with.
sigset_t set_up_signals() {
  struct sigaction action{};
  action.sa_handler = ask_to_end;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  signal(SIGBUS, end_without_memory);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is a full disk
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGINT);
  sigprocmask(SIG_BLOCK, &blocked, &before);
  return before;
}

// Short time slices: the scheduler (Linux 6.12 and later; earlier ones do not mind) then lets us run soon after we
// wake, also when the program keeps all CPUs busy. A higher priority would need rights and drops no fewer records
// (docs/design/rings-and-priority.md).
void ask_for_short_slices() {
  sched_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.sched_nice = getpriority(PRIO_PROCESS, 0);
  attributes.sched_runtime = 100000;  // ns, the shortest
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

int fail(const std::string &error) {
  fprintf(stderr, "vprof-collector: %s\n", error.c_str());
  return 1;
}

// Rings are looked at as often as they fill, but not more often than that: to wake up costs some 20 us in a virtual
// machine. What was fast may soon be so again, so the time between two looks doubles at most.
void run(Collector *collector, Control *control, const sigset_t &mask) {
  constexpr uint64_t kShortest_ns = 200000;
  uint64_t wait_ns = kShortest_ns;
  while (!g_asked_to_end && !collector->stopped()) {
    wait_ns = std::clamp(collector->round(), kShortest_ns, 2 * wait_ns);
    control->serve(static_cast<long>(wait_ns), &mask);
  }
  collector->finish();
}

// As `run`, to the program's end. What ends us is the program's; a Ctrl-C it has had from the terminal itself.
void run_program(Collector *collector, Control *control, Runner *runner, const sigset_t &mask) {
  constexpr uint64_t kShortest_ns = 200000, kLongest_ns = 5000000;  // a module that joins waits so long
  bool ended = false;
  for (uint64_t wait_ns = kShortest_ns; !ended;) {
    wait_ns = std::clamp(collector->round(), kShortest_ns, std::min(2 * wait_ns, kLongest_ns));
    control->serve(static_cast<long>(wait_ns), &mask);
    ended = runner->look() || collector->stopped();
    if (g_asked_to_end) runner->send(SIGTERM), g_asked_to_end = 0;
  }
  collector->finish();
}

// In the first place that has room for it. Returns "" or why the last had none.
std::string make_session(const Options &options, SessionFiles *files, std::string *directory) {
  const std::vector<std::string> places = options.session.directory.empty()
                                              ? session_places(options.output)
                                              : std::vector<std::string>{options.session.directory};
  std::string error;
  for (const std::string &place : places) {
    SessionOptions session = options.session;
    session.directory = *directory = place;
    error = files->create(session);
    if (error.empty()) break;
  }
  return error;
}

// --run: the program's status, or 1.
int record(const Options &options) {
  RunPlan plan;
  std::string error = plan.read(options.plan);
  if (!error.empty()) return fail(error);
  const sigset_t mask = set_up_signals();
  signal(SIGINT, [](int) {});                                          // not ignored: the program would inherit that
  if (signal(SIGHUP, ask_to_end) == SIG_IGN) signal(SIGHUP, SIG_IGN);  // nohup
  ask_for_short_slices();
  SessionFiles files;
  std::string directory;
  error = make_session(options, &files, &directory);
  if (!error.empty()) return fail(error);
  Collector collector(&files, options.noted, options.limit, options.compression);
  Control control([&](const std::string &line) { return collector.answer(line); });
  Runner runner(plan, &collector);
  error = collector.begin(options.output);
  if (error.empty()) error = control.listen(files.folder(), files.path("control"));
  if (error.empty()) error = runner.start(directory, options.command);
  if (!error.empty()) return fail(error);
  run_program(&collector, &control, &runner, mask);
  const TraceFiles::Report report = collector.recorded();
  if (!runner.anything_joined())
    return fail(
        "no records: no program built by vprof-cc joined; is it static, or set-uid, or in another pid namespace?");
  fprintf(stderr, "vprof: %s: %llu records, %llu dropped%s%s\n", report.newest.c_str(),
          static_cast<unsigned long long>(report.records), static_cast<unsigned long long>(report.dropped),
          report.ended.empty() ? "" : "; it ended early: ", report.ended.c_str());
  return runner.status();
}

int collect(const Options &options) {
  const sigset_t mask = set_up_signals();
  ask_for_short_slices();
  SessionFiles files;
  std::string error = files.create(options.session);
  if (!error.empty()) return fail(error);
  Collector collector(&files, options.noted, options.limit, options.compression);
  Control control([&](const std::string &line) { return collector.answer(line); });
  error = collector.begin(options.output);
  if (error.empty()) error = control.listen(files.folder(), files.path("control"));
  if (!error.empty()) return fail(error);
  puts("ready");
  fflush(stdout);
  run(&collector, &control, mask);
  return 0;
}

}  // namespace
}  // namespace vprof

int main(int argc, char **argv) {
  vprof::Options options;
  const int code = vprof::parse_options(argc, argv, &options);
  if (code >= 0) return code;
  return options.plan.empty() ? vprof::collect(options) : vprof::record(options);
}
