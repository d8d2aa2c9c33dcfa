// Child processes and private temporary files of the wrapper.
#pragma once

#include <string>
#include <vector>

namespace vprof {

/// How a child ended: exit code, or 128 + signal.
struct Result {
  int code = 0;
  int signal = 0;
  std::string captured;  ///< what the child wrote to the captured stream
  bool ok() const { return code == 0; }
};

enum class Capture { kNothing, kOutput, kErrors };

/// Runs a program found by PATH and waits. SIGINT, SIGTERM and SIGHUP are passed on to it; the caller finds them in
/// `pendingSignal`, and nothing is run any more. Not thread-safe.
Result run(const std::vector<std::string> &command, Capture capture);

/// A signal that came while a child ran, 0 if none.
int pendingSignal();

/// Replaces this process; returns only on failure, with an exit code, after printing why.
int replaceProcess(const std::vector<std::string> &command);

/// Ends this process as the child ended: with its exit code, or by its signal.
int endLike(const Result &result);

/// A directory of our own (0700), removed with its contents at the end of its life.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &operator=(const TemporaryDirectory &) = delete;

  bool ok() const { return !path_.empty(); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace vprof
