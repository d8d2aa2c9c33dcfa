#include "switchboard.h"

#include <algorithm>
#include <charconv>

namespace vprof {

constexpr unsigned char kOff = 0, kOn = 1, kDraining = 2;
constexpr uint64_t kSettle_ns = 50000000;

static bool parse_number(std::string_view *text, uint32_t *number) {
  const auto result = std::from_chars(text->data(), text->data() + text->size(), *number);
  if (result.ec != std::errc()) return false;
  text->remove_prefix(static_cast<size_t>(result.ptr - text->data()));
  return true;
}

bool parse_ranges(std::string_view text, std::vector<SiteRange> *ranges) {
  for (;;) {
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    if (text.empty()) return !ranges->empty();
    uint32_t first = 0;
    if (!parse_number(&text, &first)) return false;
    uint32_t last = first;
    if (!text.empty() && text[0] == '-') {
      text.remove_prefix(1);
      if (!parse_number(&text, &last)) return false;
    }
    if (last < first || (!text.empty() && text[0] != ' ')) return false;
    ranges->push_back({first, last - first + 1});
  }
}

static bool lies_in(SiteRange r, const KnownModule &m) {
  return m.mapped && r.first >= m.base + kSwitchHeaderBytes &&
         uint64_t{r.first} + r.count <= uint64_t{m.base} + m.count;
}

bool Switchboard::valid(const std::vector<SiteRange> &ranges) const {
  const std::vector<KnownModule> &known = modules_->known();
  return std::all_of(ranges.begin(), ranges.end(), [&](SiteRange r) {
    return std::any_of(known.begin(), known.end(), [&](const KnownModule &m) { return lies_in(r, m); });
  });
}

static uint64_t end_of(SiteRange r) {
  return uint64_t{r.first} + r.count;
}

static void store_byte(unsigned char *byte, unsigned char value) {
  __atomic_store_n(byte, value, __ATOMIC_SEQ_CST);
}

static std::string ranges_json(const std::vector<SiteRange> &ranges) {
  JsonArray array;
  for (const SiteRange &r : ranges) array.add("[" + std::to_string(r.first) + "," + std::to_string(r.count) + "]");
  return array.str();
}

Switchboard::Flip Switchboard::flip(const std::vector<SiteRange> &ranges, bool on) {
  const uint64_t before = recorder_->ticks();
  for (const SiteRange &r : ranges)
    for (uint32_t i = r.first; i < r.first + r.count; ++i) {
      if (on)
        store_byte(switches_ + i, kOn);
      else if (switches_[i] == kOn)
        store_byte(switches_ + i, kDraining);
    }
  for (const SiteRange &r : ranges) texts_->follow(r.first, r.count);
  const uint64_t after = recorder_->ticks();
  recorder_->event(JsonObject()
                       .add("event", "flip")
                       .add("before", before)
                       .add("after", after)
                       .raw("on", on ? ranges_json(ranges) : "[]")
                       .raw("off", on ? "[]" : ranges_json(ranges)));
  for (const SiteRange &r : ranges) drain_anew(r, on);
  return {before, after};
}

// An older flip of the same sites must not settle them: calls that this one lets in may not have their frame open yet.
void Switchboard::drain_anew(SiteRange r, bool on) {
  const uint64_t now = monotonic_ns();
  const auto covered = [r](const Draining &d) {
    return d.range.first - r.first < r.count && end_of(d.range) <= end_of(r);
  };
  draining_.erase(std::remove_if(draining_.begin(), draining_.end(), covered), draining_.end());
  for (Draining &d : draining_)
    if (d.range.first < end_of(r) && r.first < end_of(d.range)) d.since_ns = now;
  if (!on) draining_.push_back({r, now});
}

void Switchboard::settle() {
  const uint64_t now = monotonic_ns();
  for (size_t k = 0; k < draining_.size();) {
    const SiteRange r = draining_[k].range;
    if (now - draining_[k].since_ns < kSettle_ns || drain_->has_open_frame(r.first, r.count)) {
      ++k;
      continue;
    }
    for (uint32_t i = r.first; i < r.first + r.count; ++i)
      if (switches_[i] == kDraining) store_byte(switches_ + i, kOff);
    draining_.erase(draining_.begin() + static_cast<ptrdiff_t>(k));
  }
}

void Switchboard::all_off() {
  for (const KnownModule &module : modules_->known()) {
    if (!module.mapped) continue;
    for (uint32_t i = kSwitchHeaderBytes; i < module.count; ++i)
      if (switches_[module.base + i] == kOn) store_byte(switches_ + module.base + i, kDraining);
  }
  texts_->follow(0, kMaxSites);
}

}  // namespace vprof
