#include "stack_table.h"

#include <string.h>

namespace vprof {

static uint64_t hash_places(const CallStack &stack) {
  uint64_t h = 14695981039346656037u;  // FNV-1a, by words
  for (uint32_t i = 0; i < stack.count; ++i) h = (h ^ stack.places[i]) * 1099511628211u;
  return h ^ h >> 29;
}

// An entry of our own, or 0 if all are taken.
uint32_t StackTable::add(const CallStack &stack) {
  if (used_.load(std::memory_order_relaxed) >= kMaxStacks) return 0;
  const uint32_t number = used_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == 0 || number > kMaxStacks) return 0;
  memcpy(entries_[number].places, stack.places, stack.count * sizeof stack.places[0]);
  entries_[number].count.store(stack.count, std::memory_order_release);
  return number;
}

// REQUIRES: 1 <= stack.count <= kMaxStackPlaces.
uint32_t StackTable::intern(const CallStack &stack) {
  uint32_t own = 0;
  const uint64_t home = hash_places(stack);
  for (uint32_t i = 0; i < kIndexSize; ++i) {
    std::atomic<uint16_t> &place = index_[(home + i) % kIndexSize];
    uint16_t number = place.load(std::memory_order_acquire);
    if (number == 0) {
      if (own == 0) own = add(stack);
      if (own == 0) return 0;
      if (place.compare_exchange_strong(number, static_cast<uint16_t>(own), std::memory_order_acq_rel)) return own;
    }
    if (number > kMaxStacks) continue;  // overwritten
    const Entry &known = entries_[number];
    if (known.count.load(std::memory_order_acquire) == stack.count &&
        memcmp(known.places, stack.places, stack.count * sizeof stack.places[0]) == 0)
      return number;
  }
  return 0;
}

}  // namespace vprof
