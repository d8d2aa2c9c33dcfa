#include "collector.h"

namespace vprof {

constexpr uint64_t kDeadCheckPeriod_ns = 50000000;

static std::string error_reply(const std::string &text) {
  return JsonObject().add("error", text).str();
}

bool Collector::round() {
  const uint64_t now = monotonic_ns();
  arena_->heartbeat_ns.store(now, std::memory_order_relaxed);
  recorder_.announce();
  recorder_.anchor_if_due();
  const bool busy = drain_.run(false);
  if (now - looked_for_dead_ns_ >= kDeadCheckPeriod_ns) {
    looked_for_dead_ns_ = now;
    drain_.end_dead_processes();
    switchboard_.settle();
  }
  return busy;
}

std::string Collector::answer(const std::string &line) {
  const size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (verb == "modules") return modules();
  if (verb == "ack") return acknowledge(rest);
  if (verb == "on" || verb == "off") return flip(rest, verb == "on");
  if (verb == "rotate") return rotate(rest);
  if (verb == "plan") return plan();
  if (verb == "note") {
    note_ = rest;
    return "{}";
  }
  if (verb == "stats") return stats();
  if (verb == "stop") {
    stopped_ = true;
    switchboard_.all_off();
    return close_file();
  }
  return error_reply("unknown request '" + verb + "'; known: modules, ack, on, off, plan, note, rotate, stats, stop");
}

std::string Collector::modules() const {
  const uint32_t count = arena_->module_count.load(std::memory_order_acquire);
  JsonArray array;
  for (uint32_t i = 0; i < count; ++i) {
    const Module &m = arena_->modules[i];
    array.add(JsonObject()
                  .add("index", i)
                  .add("path", m.path)
                  .add("base", m.base)
                  .add("count", m.count)
                  .add("section_addr", m.section_addr)
                  .add("state", m.state == Module::kMapped ? "mapped" : "unaligned")
                  .raw("acked", m.acked.load() != 0 ? "true" : "false")
                  .str());
  }
  return JsonObject().raw("modules", array.str()).str();
}

std::string Collector::acknowledge(const std::string &index) {
  std::vector<SiteRange> number;
  if (!parse_ranges(index, &number) || number.size() != 1 || number[0].count != 1 ||
      number[0].first >= arena_->module_count.load(std::memory_order_acquire))
    return error_reply("no module '" + index + "'");
  arena_->modules[number[0].first].acked.store(1, std::memory_order_release);
  return "{}";
}

std::string Collector::flip(const std::string &text, bool on) {
  std::vector<SiteRange> ranges;
  if (!parse_ranges(text, &ranges)) return error_reply("expected site numbers such as '7 9-40', not '" + text + "'");
  if (!switchboard_.valid(ranges)) return error_reply("some of these sites lie in no mapped module: " + text);
  recorder_.announce();
  const Switchboard::Flip flip = switchboard_.flip(ranges, on);
  return JsonObject().add("before", flip.before).add("after", flip.after).str();
}

std::string Collector::close_file() {
  drain_.end_dead_processes();
  drain_.run(true);
  const bool had_file = recorder_.has_file();
  drain_.report_open_frames();
  recorder_.finish_file(dropped_in_file(), drain_.live_threads());
  return JsonObject()
      .raw("file", had_file ? quoted(recorder_.path()) : "null")
      .add("records", had_file ? recorder_.totals().records : 0)
      .add("dropped", had_file ? dropped_in_file() : 0)
      .str();
}

std::string Collector::rotate(const std::string &path) {
  if (path.empty()) return error_reply("rotate needs a file, or -");
  const std::string reply = close_file();
  dropped_before_file_ = drain_.dropped();
  if (path == "-") return reply;
  const std::string error = recorder_.begin_file(path);
  return error.empty() ? reply : error_reply(error);
}

std::string Collector::plan() const {
  const uint32_t used = arena_->sites_used.load(std::memory_order_acquire);
  return JsonObject().raw("on", sites_on(switches_, used)).add("note", note_).str();
}

std::string Collector::stats() const {
  const bool has_file = recorder_.has_file();
  return JsonObject()
      .add("records", has_file ? recorder_.totals().records : 0)
      .add("dropped", has_file ? dropped_in_file() : 0)
      .add("intervals", has_file ? recorder_.totals().intervals : 0)
      .add("threads", drain_.live_threads())
      .add("processes", drain_.live_processes())
      .add("ticks", recorder_.ticks())
      .raw("file", has_file ? quoted(recorder_.path()) : "null")
      .str();
}

void Collector::finish() {
  if (stopped_) return;
  stopped_ = true;
  switchboard_.all_off();
  close_file();
}

}  // namespace vprof
