// The collector: drains rings into the trace and answers requests, in one thread.
//
//     rings --Drain--> Recorder --TraceWriter--> run.trace, or what TraceFiles makes of it
//     requests --Control--> Collector --> Switchboard, Recorder
#ifndef VPROF_COLLECTOR_H
#define VPROF_COLLECTOR_H

#include <signal.h>

#include <string>
#include <vector>

#include "control.h"
#include "drain.h"
#include "session_files.h"
#include "switchboard.h"
#include "trace_files.h"

namespace vprof {

class Collector {
 public:
  Collector(SessionFiles *files, Noted noted, FileLimit limit, Compression compression)
      : arena_(files->arena()),
        switches_(files->switches()),
        modules_(arena_),
        recorder_(arena_, files->constants(), &modules_, files->switches(), std::move(noted), compression),
        drain_(arena_, files->constants().layout, &recorder_),
        trace_(files->constants().layout.slots, &recorder_, &drain_, limit),
        texts_(files->text_file(), files->text(), files->switches()),
        switchboard_(&modules_, files->switches(), &texts_, &recorder_, &drain_) {}

  // Begins the first recording; with "-" there is none, as after `rotate -`. Returns "" or what failed.
  std::string begin(const std::string &path) { return path == "-" ? "" : trace_.begin(path); }

  // The reply to one request line, without the newline.
  std::string answer(const std::string &line);

  // One round of draining and upkeep. Returns after how many ns the next should come.
  uint64_t round();

  // Drains everything and completes the file.
  void finish();

  bool stopped() const { return stopped_; }

  // The session's modules so far.
  const std::vector<KnownModule> &modules_now() { return modules_.refresh(); }

  // What the recording has so far.
  TraceFiles::Report recorded() const { return trace_.report(); }

 private:
  void take_texts();
  std::string modules();
  std::string acknowledge(const std::string &index);
  std::string flip(const std::string &ranges, bool on);
  std::string mark(const std::string &text);
  std::string rotate(const std::string &path);
  std::string plan() const;
  std::string stats() const;
  JsonObject report() const;

  Arena *arena_;
  const unsigned char *switches_;
  ModuleTable modules_;
  Recorder recorder_;
  Drain drain_;
  TraceFiles trace_;
  Texts texts_;
  Switchboard switchboard_;
  uint64_t looked_for_dead_ns_ = 0;
  std::string note_;
  bool stopped_ = false;
};

}  // namespace vprof

#endif
