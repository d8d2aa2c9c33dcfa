// The files of one recording: one, at most so many bytes long; or the newest of a sequence of files that together are.
//
//     one:     PATH, which ends when it is full
//     newest:  PATH.000001, PATH.000002, ...; a new one instead of a full one, the oldest deleted
//
// At every moment the files that exist have no more than the limit's bytes. A full file is a complete trace. What the
// limit left no room for is told in it as lost.
#ifndef VPROF_TRACE_FILES_H
#define VPROF_TRACE_FILES_H

#include <deque>
#include <string>

#include "drain.h"
#include "recorder.h"

namespace vprof {

struct FileLimit {
  uint64_t bytes = 0;  // of the recording, 0 = none
  bool newest = false;
};

class TraceFiles {
 public:
  TraceFiles(uint32_t slots, Recorder *recorder, Drain *drain, FileLimit limit);

  // Begins a recording. REQUIRES: none is going on. Returns "" or what failed.
  std::string begin(const std::string &path);

  // Once per round: ends what is full.
  void keep_limit();

  // Drains everything and completes the file, if there is one.
  void finish();

  // Of the recording that goes on, or of the last one until the next begins.
  struct Report {
    std::string oldest, newest;  // files, "" = none
    uint64_t records = 0;        // in them
    uint64_t intervals = 0;
    uint64_t dropped = 0;
    uint64_t not_kept = 0;  // in files that were deleted, or drained after the end
    std::string ended;      // why it ended before it was asked to, or ""
  };
  Report report() const;
  void forget();

 private:
  struct File {
    std::string path;
    uint64_t records;
    uint64_t intervals;
    uint64_t dropped;
  };

  std::string begin_next();
  File current() const;
  void close_file();
  void delete_oldest();

  Recorder *recorder_;
  Drain *drain_;
  FileLimit limit_;
  std::string path_;
  uint64_t number_ = 0;
  std::deque<File> finished_;
  uint64_t deleted_records_ = 0;
  uint64_t dropped_before_file_ = 0;
  std::string ended_;
};

}  // namespace vprof

#endif
