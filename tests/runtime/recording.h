// Runs the real collector in a temporary directory, and programs under it.
#ifndef VPROF_TEST_RECORDING_H
#define VPROF_TEST_RECORDING_H

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "decoder.h"

// A program that runs; the destructor kills it if it still does.
class Running {
 public:
  Running(const std::vector<std::string> &argv, const std::string &session);
  ~Running();
  Running(const Running &) = delete;

  std::string read_line();
  void write_line(const std::string &text);
  void close_input();
  void kill_hard();
  // Waits for the end; the exit code, or 128 + signal. `output` gets what is left to read.
  int wait(std::string *output = nullptr);
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  FILE *from_;
  FILE *to_;
};

class Recording {
 public:
  // REQUIRES: the collector can start; fails the test otherwise.
  explicit Recording(const std::vector<std::string> &options = {});
  ~Recording();

  const std::string &session() const { return session_; }
  std::string file(const std::string &name) const { return directory_ + "/" + name; }
  std::string trace_path() const { return file("run.trace"); }

  // Of the collector: its process, and its memory that is no file's.
  pid_t pid() const { return collector_->pid(); }
  uint64_t anonymous_kb() const;

  // One request over the control socket; the reply.
  std::string ask(const std::string &request);

  // The reply to `modules` from its first instrumented program on; libvprof itself joins first.
  std::string program_modules();

  // Starts a program of programs/ held at its modules, with all its sites on, and lets it run.
  // REQUIRES: the collector was started with --hold.
  Running *start_with_probes_on(const std::vector<std::string> &argv);

  // As above, to its end; returns its output.
  std::string run_with_probes_on(const std::vector<std::string> &argv);

  // Stops the collector and reads the trace.
  DecodedTrace finish();

 private:
  std::string directory_;
  std::string session_;
  Running *collector_ = nullptr;
};

// While it lives, programs start without the C library's rseq: no OFF_CPU records among those that a test counts.
class WithoutOffCpu {
 public:
  WithoutOffCpu() { setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1); }
  ~WithoutOffCpu() { unsetenv("GLIBC_TUNABLES"); }
  WithoutOffCpu(const WithoutOffCpu &) = delete;
};

std::string program(const std::string &name);

// Waits until `condition()` holds; gives up after 20 minutes, which no machine is so busy to need.
template <typename Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(5000);
  }
  return true;
}

#endif
