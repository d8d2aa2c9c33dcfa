// `vprof-collector --run PLAN -- COMMAND`: runs a program with a plan on, where there is no `vprof`
// (docs/containers.md).
//
//     plan file --read--> RunPlan --Runner--> the program; `on` and `ack` for each module of it that joins
//
// A plan file is text, one word list a line; `vprof bundle` writes it:
//     vprof-run/1
//     preload PATH                    goes into LD_PRELOAD; relative to the plan file's folder
//     sites NAME ADDRESS RANGES...    of the module whose file is called NAME: site numbers relative to the module's
//                                     first, and where its switch bytes were linked to, so that another build is known
#ifndef VPROF_RUNNER_H
#define VPROF_RUNNER_H

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "collector.h"

namespace vprof {

class RunPlan {
 public:
  // Returns "" or one line that says what is wrong with the file.
  std::string read(const std::string &path);

  const std::string &preload() const { return preload_; }

  // What is on in this module, as a request has it, and whether the plan is of this build of it. "" for none.
  std::string ranges(const KnownModule &module, bool *other_build) const;

 private:
  struct Sites {
    uint64_t address;
    std::vector<SiteRange> ranges;
  };

  std::string preload_;
  std::map<std::string, Sites> sites_;
};

// One program, from its start to its end. Prints what goes wrong meanwhile, the program goes on.
class Runner {
 public:
  Runner(const RunPlan &plan, Collector *collector) : plan_(plan), collector_(collector) {}

  // Starts the program in the session. Returns "" or what failed.
  std::string start(const std::string &session, char **command);

  // Lets new modules start, their sites on. True once the program has ended; then `status` is its shell-like status.
  bool look();
  int status() const { return status_; }
  bool anything_joined() const { return programs_ != 0; }

  void send(int signal) const;

 private:
  void admit(size_t index, const KnownModule &module);

  const RunPlan &plan_;
  Collector *collector_;
  pid_t child_ = 0;
  int status_ = 0;
  size_t known_ = 0, programs_ = 0;
};

// Where a session may lie: shared memory if it has room to spare, for a container's 64 MB are the program's as well;
// else the temporary folder, or where the output lies. The first is the best.
std::vector<std::string> session_places(const std::string &output);

}  // namespace vprof

#endif
