// Requests with decoys that vary little, or not in the intervals; the accounts; the truth.
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include "truth.h"

static std::atomic<bool> g_stop;
static long g_scale = 1;
static double g_iterations_per_us = 300;
static volatile long g_sink;
static const Mode *g_mode;

uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000 + static_cast<uint64_t>(t.tv_nsec);
}

bool is_stopping() {
  return g_stop;
}

long scaled(long us) {
  return us * g_scale;
}

NOINLINE static void spin(long iterations) {
  long sum = 0;
  for (long i = 0; i < iterations; ++i) {
    sum += i * i;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

NOINLINE void burn_us(double us) {
  spin(static_cast<long>(us * g_iterations_per_us));
}

NOINLINE void nap_us(long us) {
  const timespec t = {us / 1000000, us % 1000000 * 1000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

NOINLINE static void calibrate() {
  constexpr long kIterations = 1000000;
  uint64_t best = ~uint64_t{0};
  for (int i = 0; i < 20; ++i) {
    const uint64_t begin = now_ns();
    spin(kIterations);
    best = std::min(best, now_ns() - begin);
  }
  g_iterations_per_us = kIterations / (static_cast<double>(best) / 1000);
}

// Accounts

static thread_local uint64_t t_cause_ns;
static std::mutex g_accounts;
static std::vector<double> g_latency, g_cause;

Random &random_of_request() {
  static thread_local Random random(12345);
  return random;
}

void add_cause(uint64_t ns) {
  t_cause_ns += ns;
}

uint64_t take_cause() {
  return std::exchange(t_cause_ns, 0);
}

NOINLINE void account(uint64_t latency_ns, uint64_t cause_ns) {
  std::lock_guard<std::mutex> guard(g_accounts);
  g_latency.push_back(static_cast<double>(latency_ns));
  g_cause.push_back(static_cast<double>(cause_ns));
}

static double covariance(const std::vector<double> &a, const std::vector<double> &b) {
  double sum_a = 0, sum_b = 0, sum = 0;
  const double n = static_cast<double>(a.size());
  for (size_t i = 0; i < a.size(); ++i) sum_a += a[i], sum_b += b[i];
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - sum_a / n) * (b[i] - sum_b / n);
  return sum / n;
}

static double mean(const std::vector<double> &a) {
  double sum = 0;
  for (const double x : a) sum += x;
  return sum / static_cast<double>(a.size());
}

static void print_truth() {
  const double variance = covariance(g_latency, g_latency);
  printf("TRUTH %s n=%zu mean=%.0fus sd=%.0fus share(cov)=%.3f share(var)=%.3f mean_cause=%.0fus\n", g_mode->name,
         g_latency.size(), mean(g_latency) / 1e3, std::sqrt(variance) / 1e3, covariance(g_cause, g_latency) / variance,
         covariance(g_cause, g_cause) / variance, mean(g_cause) / 1e3);
}

// Requests. Large and constant; short and constant; a lock that nobody holds for long; a thread that varies, and
// touches nothing of the requests.

NOINLINE static void render() {
  burn_us(300);
}

NOINLINE static void parse_header() {
  burn_us(60);
}

NOINLINE static void decoy_lock() {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  burn_us(5);
}

NOINLINE static void decoy_noise(Random &random) {
  burn_us(static_cast<double>(50 + random() % 3000));
}

static void make_noise() {
  Random random(9);
  while (!g_stop) {
    decoy_noise(random);
    nap_us(3000);
  }
}

NOINLINE static void handle_request(int request) {
  parse_header();
  render();
  decoy_lock();
  g_mode->serve(request);
}

static void serve_all() {
  const uint64_t warm = now_ns() + 300000000;
  for (int request = 0; !g_stop; ++request) {
    take_cause();
    const uint64_t begin = now_ns();
    handle_request(request);
    const uint64_t end = now_ns();
    if (end > warm) account(end - begin, take_cause());
    nap_us(200);
  }
}

static void on_term(int) {
  g_stop = true;
}

static const Mode *mode_of(const char *name) {
  const Mode *const modes[] = {&kConvoy, &kPool,    &kFibers,     &kFaults, &kAllocator, &kCache,  &kBranch,
                               &kHerd,   &kReaders, &kCheckpoint, &kRetry,  &kInversion, &kControl};
  for (const Mode *mode : modes)
    if (strcmp(mode->name, name) == 0) return mode;
  return nullptr;
}

int main(int argc, char **argv) {
  g_mode = argc > 1 ? mode_of(argv[1]) : nullptr;
  if (g_mode == nullptr) {
    fprintf(stderr, "usage: truth MODE [SECONDS [SCALE]]\n");
    return 2;
  }
  const long seconds = argc > 2 ? atol(argv[2]) : 600;
  g_scale = argc > 3 ? atol(argv[3]) : 1;
  signal(SIGTERM, on_term);
  signal(SIGINT, on_term);
  calibrate();
  Threads threads;
  threads.emplace_back(make_noise);
  if (g_mode->prepare != nullptr) g_mode->prepare(threads);
  threads.emplace_back([seconds] {
    for (long i = 0; i < seconds * 10 && !g_stop; ++i) nap_us(100000);
    g_stop = true;
    if (g_mode->wake != nullptr) g_mode->wake();
  });
  if (g_mode->run != nullptr)
    g_mode->run();
  else
    serve_all();
  for (std::thread &thread : threads) thread.join();
  print_truth();
  return 0;
}
