#include "mappings.h"

namespace vprof {

Mappings g_mappings;

// Finalizer of MurmurHash3.
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
  return x ^ x >> 33;
}

uint64_t memory_identity(uint64_t a, uint64_t b) {
  const uint64_t identity = mix(mix(a + 0x9E3779B97F4A7C15u) + b);
  return identity != 0 ? identity : 1;
}

// False if the entry is being changed.
bool Mappings::read(const Entry &entry, uint32_t *version, Range *range) {
  *version = entry.version.load(std::memory_order_acquire);
  if (*version % 2 != 0) return false;
  range->start = entry.start.load(std::memory_order_relaxed);
  range->end = entry.end.load(std::memory_order_relaxed);
  range->name = entry.name.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  return entry.version.load(std::memory_order_relaxed) == *version;
}

// False if the entry is not what it was at `version`; then nothing is changed.
bool Mappings::change(Entry &entry, uint32_t version, Range range) {
  if (!entry.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) return false;
  std::atomic_thread_fence(std::memory_order_release);
  entry.start.store(range.start, std::memory_order_relaxed);
  entry.end.store(range.end, std::memory_order_relaxed);
  entry.name.store(range.name, std::memory_order_relaxed);
  entry.version.store(version + 2, std::memory_order_release);
  return true;
}

void Mappings::widen(uint64_t start, uint64_t end) {
  uint64_t low = low_.load(std::memory_order_relaxed);
  while (start < low && !low_.compare_exchange_weak(low, start, std::memory_order_relaxed)) continue;
  uint64_t high = high_.load(std::memory_order_relaxed);
  while (end > high && !high_.compare_exchange_weak(high, end, std::memory_order_relaxed)) continue;
}

void Mappings::enter(uint64_t start, uint64_t length, uint64_t name) {
  for (uint32_t i = 0; i < kEntries; ++i) {
    uint32_t version;
    Range range;
    if (!read(entries_[i], &version, &range) || range.start != range.end) continue;
    if (!change(entries_[i], version, {start, start + length, name})) continue;
    uint32_t used = used_.load(std::memory_order_relaxed);
    while (used <= i && !used_.compare_exchange_weak(used, i + 1, std::memory_order_release)) continue;
    widen(start, start + length);
    return;
  }
}

void Mappings::forget(uint64_t start, uint64_t length) {
  const uint64_t end = start + length;
  if (end <= low_.load(std::memory_order_relaxed) || start >= high_.load(std::memory_order_relaxed)) return;
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    uint32_t version;
    Range r;
    if (!read(entries_[i], &version, &r) || r.end <= start || r.start >= end) continue;
    const Range head = {r.start, r.start < start ? start : r.start, r.name};
    const bool has_tail = r.end > end;
    const Range tail = {end, r.end, r.name + (end - r.start)};
    const bool keep_tail_here = head.start == head.end && has_tail;
    if (!change(entries_[i], version, keep_tail_here ? tail : head)) continue;
    if (has_tail && !keep_tail_here) enter(tail.start, tail.end - tail.start, tail.name);
  }
}

uint64_t Mappings::find_in_table(uint64_t address) const {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    uint32_t version;
    Range r;
    if (read(entries_[i], &version, &r) && address >= r.start && address < r.end) return r.name + (address - r.start);
  }
  return 0;
}

uint64_t Mappings::length_at(uint64_t start) const {
  const uint32_t used = used_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < used; ++i) {
    uint32_t version;
    Range r;
    if (read(entries_[i], &version, &r) && r.start == start) return r.end - r.start;
  }
  return 0;
}

}  // namespace vprof
