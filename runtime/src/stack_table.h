// The stack table: call stacks that threads waited in, interned as numbers 1..2047, shared by all processes of a
// session.
//
// A stack is a list of places in code, the innermost first; a place is the same number in all processes of the session,
// wherever their modules lie (place_in). Lock-free and safe in signal handlers, in the way of labels.h.
#ifndef VPROF_STACK_TABLE_H
#define VPROF_STACK_TABLE_H

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace vprof {

constexpr uint32_t kMaxStackPlaces = 48;

struct CallStack {
  uint64_t places[kMaxStackPlaces];
  uint32_t count;
};

// A module of the session's table, and a link-time address in it.
constexpr uint64_t kPlaceBits = 48;
constexpr uint64_t place_in(uint32_t module, uint64_t address) {
  return uint64_t{module} << kPlaceBits | (address & ((uint64_t{1} << kPlaceBits) - 1));
}
constexpr uint32_t module_of(uint64_t place) {
  return static_cast<uint32_t>(place >> kPlaceBits);
}
constexpr uint64_t address_of(uint64_t place) {
  return place & ((uint64_t{1} << kPlaceBits) - 1);
}

class StackTable {
 public:
  static constexpr uint32_t kMaxStacks = 2047;

  // The number of the stack; 0 if the table is full.
  uint32_t intern(const CallStack &stack);

  // Copies the stack of `number`; false while it has none. Whatever others write, it has at most kMaxStackPlaces.
  bool get(uint32_t number, CallStack *stack) const {
    const Entry &entry = entries_[number];
    stack->count = std::min(entry.count.load(std::memory_order_acquire), kMaxStackPlaces);
    std::copy_n(entry.places, stack->count, stack->places);
    return stack->count != 0;
  }

  // No number above this one has been given.
  uint32_t last() const {
    const uint32_t n = used_.load(std::memory_order_acquire);
    return n < kMaxStacks ? n : kMaxStacks;
  }

 private:
  static constexpr uint32_t kIndexSize = 4096;  // at most half full

  struct Entry {
    uint64_t places[kMaxStackPlaces];
    std::atomic<uint32_t> count;  // 0: not ready
  };

  uint32_t add(const CallStack &stack);

  std::atomic<uint32_t> used_;
  std::atomic<uint16_t> index_[kIndexSize];
  Entry entries_[kMaxStacks + 1];
};

}  // namespace vprof

#endif
