// The current trace file and what must be in it besides records: the events of TRACE_FORMAT.md section 5.
//
//     begin_file: session, anchor, modules, plan | ... anchors, labels, threads, records, flips ... | finish_file:
//     anchor, end
#ifndef VPROF_RECORDER_H
#define VPROF_RECORDER_H

#include <optional>
#include <string>
#include <vector>

#include "json.h"
#include "latencies.h"
#include "module_table.h"
#include "session_files.h"
#include "symbols.h"
#include "trace_writer.h"

namespace vprof {

// Since the start of the current file.
struct FileTotals {
  uint64_t records = 0;    // in the file
  uint64_t intervals = 0;  // INTERVAL_END among them
};

// What the one who started the collector wants to be read in each file.
struct Noted {
  std::vector<std::string> command;
  uint64_t probe_ps = 0;    // what an enter and exit of a probe cost, 0: not known
  std::string built_from;   // source and version of the programs, "": not known
  double offered_rate = 0;  // intervals a second that the load begins, whatever became of others, 0: it is none such
};

// Which texts of a table the file knows.
struct Told {
  std::vector<bool> numbers;
  uint32_t complete = 0;  // all up to here
};

class Recorder {
 public:
  Recorder(Arena *arena, const SessionConstants &constants, ModuleTable *modules, const unsigned char *switches,
           Noted noted, Compression compression)
      : arena_(arena), constants_(constants), modules_(modules), switches_(switches), noted_(std::move(noted)) {
    writer_.compress(compression);
  }

  // Begins `path`. REQUIRES: no file is open. Returns "" or what failed; then what is drained goes nowhere.
  std::string begin_file(const std::string &path);
  void finish_file(uint64_t dropped, uint32_t threads);
  bool has_file() const { return writer_.is_open(); }
  const std::string &path() const { return writer_.path(); }
  uint64_t file_number() const { return files_; }  // of the current file, from 1
  const FileTotals &totals() const { return totals_; }

  // Files begun from now on have at most so many bytes, 0 = no limit, also if all so many threads lose records.
  void limit(uint64_t bytes, uint32_t threads);
  // Whether the file can surely not take what the rings hold, `waiting` bytes, and what comes in meanwhile.
  bool is_full(uint64_t waiting) const {
    return writer_.is_open() && writer_.is_full(totals_.records == 0 ? 0 : 2 * waiting);
  }
  // A thread lost records in that time. Uses what is reserved for the end of the file.
  void tell_loss(uint32_t uid, uint64_t from, uint64_t to, uint64_t count);
  // Why nothing more can be written to the file, or "".
  const std::string &failure() const { return writer_.failure(); }
  // Events from now on may use what is reserved for the end of the file.
  void begin_end() { room_ = Room::kClosing; }
  // Of the intervals in the file.
  const Latencies &latencies() const { return latencies_; }
  // Drained while there was no file, since the last one.
  uint64_t unkept() const { return unkept_; }

  void event(const JsonObject &object) { writer_.event(object.str(), room_); }
  // Tells modules, labels and names that the file does not know yet. Labels and names first used by records that were
  // committed before the call are told then, modules acknowledged unless they are held.
  void announce();
  void anchor_if_due();
  // Stores records of one thread. False if there was a file but it could not take them.
  bool records(uint32_t uid, const Ring::Span &span, uint64_t now);

  uint64_t ticks() const { return read_clock(constants_.clock); }

 private:
  void announce_session();
  void announce_module(uint32_t index);
  void announce_plan();
  void announce_stack(uint32_t number);
  // Those of a table that the file does not know yet, by events of that kind.
  template <typename Table>
  void announce_texts(const char *kind, const Table &table, Told *told);
  void anchor();
  struct Metadata {
    Prepared content;
    std::vector<std::string> compilers;
    std::string build_id;
  };
  std::optional<Metadata> read_metadata(const std::string &path);

  Arena *arena_;
  const SessionConstants constants_;
  ModuleTable *modules_;
  const unsigned char *switches_;
  Noted noted_;
  TraceWriter writer_;
  FileTotals totals_;
  Latencies latencies_;
  uint64_t files_ = 0;
  Room room_ = Room::kOrdinary;
  uint64_t unkept_ = 0;
  uint64_t begun_ns_ = 0;
  uint64_t anchored_ns_ = 0;
  uint32_t modules_told_ = 0;
  uint32_t modules_acked_ = 0;
  // By module, kept: a file begun under load must not wait until tens of MB are read, compressed and summed.
  std::vector<std::optional<Metadata>> metadata_;
  std::vector<Symbols> symbols_;
  Told labels_told_, names_told_;
  std::vector<bool> stacks_told_;
  uint32_t stacks_complete_ = 0;
};

// From one anchor to the next in a file of that age: at first a second, later a 64th of the age, at most a minute.
// Between two anchors time is a straight line; a week has some 10,000.
constexpr uint64_t anchor_period_ns(uint64_t age_ns) {
  constexpr uint64_t kShortest_ns = 1000000000, kLongest_ns = 60 * kShortest_ns;
  const uint64_t period = age_ns / 64;
  return period < kShortest_ns ? kShortest_ns : period < kLongest_ns ? period : kLongest_ns;
}

// The time that a chunk begins with. Overwritten records may say one before the clock began, which no reader takes.
constexpr uint64_t base_of_chunk(Record first, uint64_t now) {
  const uint64_t time = time_of(first, now);
  return time >> 63 == 0 ? time : 0;
}

// Site numbers [first, first + count) whose switch byte is 1, as the JSON array [[first, count], ...]. A module's range
// begins with a header, whose bytes are no switches.
std::string sites_on(const unsigned char *switches, const std::vector<KnownModule> &modules);

}  // namespace vprof

#endif
