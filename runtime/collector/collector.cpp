#include "collector.h"

#include <utility>

#include "../src/shared_text.h"

namespace vprof {

constexpr uint64_t kDeadCheckPeriod_ns = 50000000;

static std::string error_reply(const std::string &text) {
  return JsonObject().add("error", text).str();
}

uint64_t Collector::round() {
  const uint64_t now = monotonic_ns();
  arena_->heartbeat_ns.store(now, std::memory_order_relaxed);
  take_texts();
  recorder_.announce();
  recorder_.anchor_if_due();
  trace_.keep_limit();
  const uint64_t wait_ns = drain_.run(false);
  if (now - looked_for_dead_ns_ >= kDeadCheckPeriod_ns) {
    looked_for_dead_ns_ = now;
    drain_.end_dead_processes(false);
    switchboard_.settle();
  }
  return wait_ns;
}

void Collector::take_texts() {
  const uint32_t lost = texts_.refresh();
  if (lost != 0) arena_->not_wrapped.fetch_add(lost, std::memory_order_relaxed);
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
  if (verb == "mark") return mark(rest);
  if (verb == "stats") return stats();
  if (verb == "stop") {
    finish();
    return report().str();
  }
  return error_reply("unknown request '" + verb +
                     "'; known: modules, ack, on, off, plan, note, mark, rotate, stats, stop");
}

std::string Collector::modules() {
  JsonArray array;
  uint64_t index = 0;
  for (const KnownModule &m : modules_.refresh())
    array.add(JsonObject()
                  .add("index", index++)
                  .add("path", m.path)
                  .add("base", m.base)
                  .add("count", m.count)
                  .add("section_addr", m.section_addr)
                  .add("state", m.mapped ? "mapped" : "unaligned")
                  .raw("acked", m.acked ? "true" : "false")
                  .str());
  return JsonObject().raw("modules", array.str()).str();
}

std::string Collector::acknowledge(const std::string &index) {
  std::vector<SiteRange> number;
  if (!parse_ranges(index, &number) || number.size() != 1 || number[0].count != 1 ||
      number[0].first >= modules_.refresh().size())
    return error_reply("no module '" + index + "'");
  modules_.acknowledge(number[0].first);
  return "{}";
}

std::string Collector::flip(const std::string &text, bool on) {
  std::vector<SiteRange> ranges;
  if (!parse_ranges(text, &ranges)) return error_reply("expected site numbers such as '7 9-40', not '" + text + "'");
  modules_.refresh();
  take_texts();
  if (!switchboard_.valid(ranges)) return error_reply("some of these sites lie in no mapped module: " + text);
  recorder_.announce();
  const Switchboard::Flip flip = switchboard_.flip(ranges, on);
  return JsonObject().add("before", flip.before).add("after", flip.after).str();
}

std::string Collector::mark(const std::string &text) {
  const uint64_t ticks = recorder_.ticks();
  recorder_.event(JsonObject().add("event", "mark").add("ticks", ticks).add("text", text));
  return JsonObject().add("ticks", ticks).str();
}

std::string Collector::rotate(const std::string &path) {
  if (path.empty()) return error_reply("rotate needs a file, or -");
  trace_.finish();
  const std::string reply = report().str();
  trace_.forget();
  const std::string error = begin(path);
  return error.empty() ? reply : error_reply(error);
}

std::string Collector::plan() const {
  return JsonObject().raw("on", sites_on(switches_, modules_.known())).add("note", note_).str();
}

static std::string name_or_null(const std::string &path) {
  return path.empty() ? "null" : quoted(path);
}

// Why processes do not share their code.
static std::string in_words(uint32_t why) {
  constexpr std::pair<Sharing, const char *> kWords[] = {
      {kNoSession, "it does not find the session any more"},
      {kNoRoom, "the session has no room for it"},
      {kRefused, "the system does not let it execute the session's copy (noexec, SELinux)"},
      {kDifferent, "its code is not its file's (a breakpoint, a uprobe, relocations, a file exchanged since)"},
      {kScattered, "its code lies in several segments"},
  };
  JsonArray words;
  for (const auto &[bit, text] : kWords)
    if ((why & bit) != 0) words.add(quoted(text));
  return words.str();
}

JsonObject Collector::report() const {
  const TraceFiles::Report report = trace_.report();
  JsonArray uninterposed;
  for (const auto &[pid, name] : drain_.uninterposed())
    uninterposed.add(JsonObject().add("pid", pid).add("name", name).str());
  return JsonObject()
      .raw("file", name_or_null(report.newest))
      .raw("oldest", name_or_null(report.oldest))
      .add("records", report.records)
      .add("dropped", report.dropped)
      .add("intervals", report.intervals)
      .add("not_kept", report.not_kept)
      .add("ended", report.ended)
      .add("without_room", arena_->without_room.load(std::memory_order_relaxed))
      .add("not_wrapped", arena_->not_wrapped.load(std::memory_order_relaxed))
      .add("own_text", arena_->own_text.load(std::memory_order_relaxed))
      .raw("own_text_why", in_words(arena_->own_text_why.load(std::memory_order_relaxed)))
      .raw("uninterposed", uninterposed.str());
}

std::string Collector::stats() const {
  const std::set<uint32_t> pids = drain_.live_processes();
  JsonArray named;
  size_t left = kMostNamed;
  for (const uint32_t pid : pids)
    if (left != 0) --left, named.add(std::to_string(pid));
  return report()
      .add("threads", drain_.live_threads())
      .add("processes", pids.size())
      .raw("pids", named.str())
      .add("p50_ticks", recorder_.latencies().quantile(0.5))
      .add("p99_ticks", recorder_.latencies().quantile(0.99))
      .add("ticks", recorder_.ticks())
      .str();
}

void Collector::finish() {
  if (stopped_) return;
  stopped_ = true;
  switchboard_.all_off();
  trace_.finish();
}

}  // namespace vprof
