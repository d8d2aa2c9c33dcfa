// The current trace file and what must be in it besides records: the events of TRACE_FORMAT.md section 5.
//
//     begin_file: session, anchor, modules, plan | ... anchors, labels, threads, records, flips ... | finish_file:
//     anchor, end
#ifndef VPROF_RECORDER_H
#define VPROF_RECORDER_H

#include <optional>
#include <string>
#include <vector>

#include "../src/arena.h"
#include "json.h"
#include "trace_writer.h"

namespace vprof {

// Since the start of the current file.
struct FileTotals {
  uint64_t records = 0;    // in the file
  uint64_t intervals = 0;  // INTERVAL_END among them
  uint64_t unstored = 0;   // drained, but the disk was full
};

class Recorder {
 public:
  Recorder(Arena *arena, const unsigned char *switches, std::vector<std::string> command)
      : arena_(arena), switches_(switches), command_(std::move(command)) {}

  // Begins `path`. REQUIRES: no file is open. Returns "" or what failed; then what is drained goes nowhere.
  std::string begin_file(const std::string &path);
  void finish_file(uint64_t dropped, uint32_t threads);
  bool has_file() const { return writer_.is_open(); }
  const std::string &path() const { return writer_.path(); }
  uint64_t file_number() const { return files_; }  // of the current file, from 1
  const FileTotals &totals() const { return totals_; }

  void event(const JsonObject &object) { writer_.event(object.str()); }
  // Tells modules and labels that the file does not know yet. Labels first used by records that were committed before
  // the call are told then, modules acknowledged unless they are held.
  void announce();
  void anchor_if_due();
  // Stores records of one thread. False if there was a file but it could not take them.
  bool records(uint32_t uid, const Ring::Span &span, uint64_t now);

  uint64_t ticks() const { return read_clock(arena_->clock); }

 private:
  void announce_session();
  void announce_module(uint32_t index);
  void announce_plan();
  void announce_label(uint32_t number);
  void anchor();

  struct Metadata {
    std::string bytes;
    uint32_t crc;
  };
  static std::optional<Metadata> read_metadata(const std::string &path);

  Arena *arena_;
  const unsigned char *switches_;
  std::vector<std::string> command_;
  TraceWriter writer_;
  FileTotals totals_;
  uint64_t files_ = 0;
  uint64_t anchored_ns_ = 0;
  uint32_t modules_told_ = 0;
  // By module, kept: a file begun under load must not wait until tens of MB are read and summed.
  std::vector<std::optional<Metadata>> metadata_;
  std::vector<bool> labels_told_;
  uint32_t labels_complete_ = 0;  // all labels up to here are told
};

// Site numbers [first, first + count) whose switch byte is 1, as the JSON array [[first, count], ...].
std::string sites_on(const unsigned char *switches, uint32_t sites_used);

}  // namespace vprof

#endif
