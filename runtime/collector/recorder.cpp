#include "recorder.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "elf_meta.h"
#include "fitting.h"
#include "machine.h"

namespace vprof {

constexpr const char *kCollectorVersion = "0.1.0";
constexpr size_t kMostName = 500;

std::string sites_on(const unsigned char *switches, const std::vector<KnownModule> &modules) {
  JsonArray ranges;
  for (const KnownModule &module : modules) {
    if (!module.mapped) continue;
    const uint32_t last = module.base + module.count;
    for (uint32_t i = module.base + kSwitchHeaderBytes; i < last;) {
      uint32_t end = i;
      while (end < last && switches[end] == 1) ++end;
      if (end > i) ranges.add("[" + std::to_string(i) + "," + std::to_string(end - i) + "]");
      i = end + 1;
    }
  }
  return ranges.str();
}

// Closing: one `loss` event for each thread at worst, open frames as far as they fit, anchor and end.
void Recorder::limit(uint64_t bytes, uint32_t threads) {
  constexpr uint64_t kLoss = 192, kRest = 64 << 10;
  writer_.limit(bytes, std::min(bytes / 4, kRest + threads * kLoss));
}

std::string Recorder::begin_file(const std::string &path) {
  const std::string error = writer_.open(path, files_, constants_.id);
  if (!error.empty()) return error;
  ++files_;
  totals_ = {};
  latencies_.clear();
  room_ = Room::kOrdinary;
  unkept_ = 0;
  begun_ns_ = monotonic_ns();
  modules_told_ = 0;
  labels_told_ = {std::vector<bool>(LabelTable::kMaxTexts + 1), 0};
  names_told_ = {std::vector<bool>(NameTable::kMaxTexts + 1), 0};
  stacks_told_.assign(StackTable::kMaxStacks + 1, false);
  stacks_complete_ = 0;
  announce_session();
  anchor();
  announce();
  announce_plan();
  return "";
}

void Recorder::finish_file(uint64_t dropped, uint32_t threads) {
  if (!writer_.is_open()) return;
  room_ = Room::kEnd;
  anchor();
  event(JsonObject()
            .add("event", "end")
            .add("ticks", ticks())
            .add("records", totals_.records)
            .add("dropped", dropped)
            .add("threads", threads)
            .add("unslotted", as_count(arena_->unslotted.load(std::memory_order_relaxed)))
            .add("unnamed", as_count(arena_->unnamed.load(std::memory_order_relaxed)))
            .add("not_wrapped", arena_->not_wrapped.load(std::memory_order_relaxed))
            .add("own_text", arena_->own_text.load(std::memory_order_relaxed)));
  writer_.close();
}

void Recorder::announce_session() {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  JsonArray command;
  for (const std::string &word : noted_.command) command.add(quoted(word));
  JsonObject session;
  session.add("event", "session")
      .add("clock", constants_.clock == Clock::kTsc ? "tsc" : "monotonic")
      .raw("command", command.str())
      .add("host", host)
      .add("page", kPage)
      .add("collector_version", kCollectorVersion);
  add_machine(&session);
  if (noted_.probe_ps != 0) session.add("probe_ps", noted_.probe_ps);
  if (!noted_.built_from.empty()) session.add("built_from", noted_.built_from);
  if (noted_.offered_rate != 0) session.raw("offered_rate", std::to_string(noted_.offered_rate));
  if (constants_.lock_events) session.raw("locks", "true");
  event(session);
}

void Recorder::announce_plan() {
  event(JsonObject().add("event", "plan").raw("on", sites_on(switches_, modules_->known())));
}

std::optional<Recorder::Metadata> Recorder::read_metadata(const std::string &path) {
  std::optional<std::string> bytes = read_unit_metadata(path);
  if (!bytes) return std::nullopt;
  return Metadata{writer_.prepare(std::move(*bytes)), read_compilers(path), read_build_id(path)};
}

void Recorder::announce_module(uint32_t index) {
  const KnownModule &m = modules_->known()[index];
  if (metadata_.size() <= index) {
    metadata_.push_back(read_metadata(m.path));
    symbols_.push_back(Symbols::of(m.path));
  }
  const std::optional<Metadata> &metadata = metadata_[index];
  const char *state = !m.mapped ? "unaligned" : metadata ? "mapped" : "no-metadata";
  JsonArray compilers;
  if (metadata)
    for (const std::string &text : metadata->compilers) compilers.add(quoted(text));
  JsonObject module;
  module.add("event", "module")
      .add("index", index)
      .add("path", m.path)
      .add("base", m.base)
      .add("count", m.count)
      .add("section_addr", m.section_addr)
      .add("state", state)
      .raw("compilers", compilers.str());
  if (metadata && !metadata->build_id.empty()) module.add("build_id", metadata->build_id);
  event(module);
  if (metadata) writer_.metadata(index, metadata->content);
}

template <typename Table>
void Recorder::announce_texts(const char *kind, const Table &table, Told *told) {
  const uint32_t last = table.last();
  for (uint32_t number = told->complete + 1; number <= last; ++number) {
    const char *text = told->numbers[number] ? nullptr : table.text(number);
    if (text == nullptr) continue;
    told->numbers[number] = true;
    const std::string copy(text, strnlen(text, Table::kMaxText));  // it may be overwritten while it is quoted
    event(JsonObject().add("event", kind).add("number", number).add("text", copy));
  }
  while (told->complete < last && told->numbers[told->complete + 1]) ++told->complete;
}

// Its functions, the innermost first; of code without symbols the address.
void Recorder::announce_stack(uint32_t number) {
  CallStack stack;
  if (stacks_told_[number] || !arena_->stacks.get(number, &stack)) return;
  stacks_told_[number] = true;
  JsonArray functions;
  for (uint32_t i = 0; i < stack.count; ++i) {
    const uint32_t module = module_of(stack.places[i]);
    const std::string name = module < symbols_.size() ? symbols_[module].name_at(address_of(stack.places[i])) : "";
    functions.add("[" + std::to_string(std::min(module, kMaxModules)) + "," + quoted(name.substr(0, kMostName)) + "]");
  }
  event(JsonObject().add("event", "stack").add("number", number).raw("functions", functions.str()));
}

void Recorder::announce() {
  const uint32_t modules = static_cast<uint32_t>(modules_->refresh().size());
  if (writer_.is_open())
    for (; modules_told_ < modules; ++modules_told_) announce_module(modules_told_);
  if (!constants_.hold)
    for (; modules_acked_ < modules; ++modules_acked_) modules_->acknowledge(modules_acked_);
  if (!writer_.is_open()) return;
  announce_texts("label", arena_->labels, &labels_told_);
  announce_texts("name", arena_->names, &names_told_);
  for (uint32_t n = stacks_complete_ + 1; n <= arena_->stacks.last(); ++n) announce_stack(n);
  while (stacks_complete_ < StackTable::kMaxStacks && stacks_told_[stacks_complete_ + 1]) ++stacks_complete_;
}

void Recorder::anchor_if_due() {
  const uint64_t now = monotonic_ns();
  if (writer_.is_open() && now - anchored_ns_ >= anchor_period_ns(now - begun_ns_)) anchor();
}

// The ticks lie in the middle between two readings; of several attempts the closest pair counts.
void Recorder::anchor() {
  uint64_t best = ~uint64_t{0}, at = 0, ns = 0, real_ns = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    timespec t;
    const uint64_t before = ticks();
    const uint64_t now_ns = monotonic_ns();
    const uint64_t after = ticks();
    clock_gettime(CLOCK_REALTIME, &t);
    if (after - before >= best) continue;
    best = after - before;
    at = before + best / 2;
    ns = now_ns;
    real_ns = static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
  }
  anchored_ns_ = ns;
  event(JsonObject().add("event", "anchor").add("ticks", at).add("monotonic_ns", ns).add("realtime_ns", real_ns));
}

void Recorder::tell_loss(uint32_t uid, uint64_t from, uint64_t to, uint64_t count) {
  const JsonObject loss =
      JsonObject().add("event", "loss").add("uid", uid).add("from", from).add("to", to).add("count", count);
  writer_.event(loss.str(), Room::kClosing);
}

bool Recorder::records(uint32_t uid, const Ring::Span &span, uint64_t now) {
  if (!writer_.is_open()) {
    unkept_ += span.total();
    return true;
  }
  const uint64_t base = base_of_chunk(span.first[0][0], now);
  iovec pieces[2];
  uint64_t intervals = 0, lost = 0;
  for (int i = 0; i < 2; ++i) {
    pieces[i] = {const_cast<Record *>(span.first[i]), span.count[i] * sizeof(Record)};
    for (uint64_t k = 0; k < span.count[i]; ++k) {
      const Record &r = span.first[i][k];
      const Kind kind = kind_of(r);
      intervals += kind == Kind::kIntervalEnd;
      if (kind == Kind::kIntervalBegin || kind == Kind::kIntervalEnd) latencies_.note(r.w1, time_of(r, now));
      if (kind == Kind::kCount) lost = sum_of_counts(lost, r.w1);
    }
  }
  if (!writer_.chunk(ChunkKind::kRecords, uid, base, pieces, 2)) {
    const uint64_t from = kind_of(span.first[0][0]) == Kind::kLost ? span.first[0][0].w1 : base;
    tell_loss(uid, not_after(now, from), now, sum_of_counts(lost, span.total()));
    return false;
  }
  totals_.records += span.total();
  totals_.intervals += intervals;
  return true;
}

}  // namespace vprof
