// A server whose requests vary for one reason that is planted and known: `truth MODE [SECONDS [SCALE]]`.
//
// Each mode is a file of its own with one planted function. A request adds the time that the cause took to its account;
// at the end (SIGTERM, or after SECONDS) the program prints which share of the variance of latency that was:
//
//     TRUTH MODE n=... mean=...us sd=...us share(cov)=... share(var)=... mean_cause=...us
//
// SCALE makes the planted times longer, so that they stand out from the noise of a busy machine.
#ifndef TRUTH_H
#define TRUTH_H

#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

using Random = std::mt19937;

uint64_t now_ns();
bool is_stopping();
void burn_us(double us);  // on the CPU
void nap_us(long us);     // off the CPU
long scaled(long us);     // times SCALE
Random &random_of_request();

// Of the current request of the calling thread.
void add_cause(uint64_t ns);
uint64_t take_cause();
void account(uint64_t latency_ns, uint64_t cause_ns);

// Counts its life as the request's cause.
class Cause {
 public:
  Cause() : begin_(now_ns()) {}
  ~Cause() { add_cause(now_ns() - begin_); }
  Cause(const Cause &) = delete;
  Cause &operator=(const Cause &) = delete;

 private:
  uint64_t begin_;
};

// The threads beside the one that serves.
using Threads = std::vector<std::thread>;

struct Mode {
  const char *name;
  void (*prepare)(Threads &threads);  // null: nothing to do
  void (*serve)(int request);         // the varying part of a request; null: `run` makes the requests
  void (*run)();                      // null: one request after the other
  void (*wake)();                     // of threads that wait for work when all ends; null: there are none
};

extern const Mode kConvoy, kPool, kFibers, kFaults, kAllocator, kCache, kBranch, kHerd, kReaders, kCheckpoint, kRetry,
    kInversion, kControl;

#endif
