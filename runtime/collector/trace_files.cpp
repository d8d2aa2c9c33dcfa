#include "trace_files.h"

#include <unistd.h>

#include <cstdio>

namespace vprof {

constexpr size_t kNewestFiles = 8;  // at one time: what is kept is 7 to 8 parts of 8 of the limit

TraceFiles::TraceFiles(uint32_t slots, Recorder *recorder, Drain *drain, FileLimit limit)
    : recorder_(recorder), drain_(drain), limit_(limit) {
  recorder_->limit(limit.newest ? limit.bytes / kNewestFiles : limit.bytes, slots);
}

std::string TraceFiles::begin(const std::string &path) {
  forget();
  path_ = path;
  return begin_next();
}

void TraceFiles::forget() {
  finished_.clear();
  deleted_records_ = 0;
  number_ = 0;
  ended_.clear();
}

std::string TraceFiles::begin_next() {
  std::string path = path_;
  if (limit_.newest) {
    char number[16];
    snprintf(number, sizeof number, ".%06llu", static_cast<unsigned long long>(++number_));
    path += number;
    if (finished_.size() == kNewestFiles) delete_oldest();
  }
  dropped_before_file_ = drain_->dropped();
  return recorder_->begin_file(path);
}

void TraceFiles::delete_oldest() {
  unlink(finished_.front().path.c_str());
  deleted_records_ += finished_.front().records;
  finished_.pop_front();
}

TraceFiles::File TraceFiles::current() const {
  const FileTotals &totals = recorder_->totals();
  return {recorder_->path(), totals.records, totals.intervals, drain_->dropped() - dropped_before_file_};
}

void TraceFiles::close_file() {
  drain_->end_dead_processes(true);
  drain_->run(true);
  if (!recorder_->has_file()) return;
  recorder_->begin_end();
  drain_->report_unfinished();
  const File file = current();
  if (!recorder_->failure().empty()) ended_ = recorder_->failure();
  recorder_->finish_file(file.dropped, drain_->live_threads());
  finished_.push_back(file);
}

void TraceFiles::finish() {
  close_file();
}

// Two rounds' worth of room is left before a file is full, so that it ends with everything committed so far.
void TraceFiles::keep_limit() {
  if (limit_.bytes == 0 || !recorder_->is_full(drain_->waiting_bytes())) return;
  close_file();
  if (!ended_.empty()) return;
  if (!limit_.newest)
    ended_ = "it has reached its greatest size";
  else if (finished_.back().records == 0)
    ended_ = "its greatest size leaves no room for records beside the program's metadata";
  else
    ended_ = begin_next();
}

TraceFiles::Report TraceFiles::report() const {
  std::deque<File> files = finished_;
  if (recorder_->has_file()) files.push_back(current());
  Report report;
  for (const File &file : files) {
    if (report.oldest.empty()) report.oldest = file.path;
    report.newest = file.path;
    report.records += file.records;
    report.intervals += file.intervals;
    report.dropped += file.dropped;
  }
  report.ended = recorder_->has_file() && ended_.empty() ? recorder_->failure() : ended_;
  report.not_kept = deleted_records_ + (files.empty() || recorder_->has_file() ? 0 : recorder_->unkept());
  return report;
}

}  // namespace vprof
