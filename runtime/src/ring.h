// A single-producer single-consumer ring of records that lies in memory shared by two processes.
//
//     writing thread --push--> [head .. tail) --peek/consume--> collector
//
// Memory orders. The producer writes records, then publishes them by one release store of `tail`; the consumer's
// acquire load of `tail` makes them visible. The consumer reads records, then gives the space back by a release store
// of `head`; the producer's acquire load of `head` (only when its cached limit is used up) orders its overwriting after
// the reading. Nothing else is shared, so neither side ever waits. An event of several records is published by one
// store: the consumer never sees half of it, and a producer that dies leaves only whole events.
//
// Overflow. push() drops and counts; from then on it drops everything (but reserved events) until a quarter of the ring
// is free, and then writes LOST and COUNT first, so a burst costs one lost range and not thousands. The last sixteenth
// of the ring is reserved for events of Space::kReserved (intervals): their times survive a flood of invocations.
//
// Who may write to the shared memory may write anything over these words, so none of them decides where a side reads or
// writes: each side says itself where the records lie (Records), out of memory of its own (SESSION.md "Who trusts
// whom").
//
// Thread-safety: push() and flush_loss() by the owning thread only, not re-entered (the caller guards against signal
// handlers); drop() also by signal handlers that interrupt push(); peek(), consume() by the consumer only.
#ifndef VPROF_RING_H
#define VPROF_RING_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "format.h"

namespace vprof {

enum class Space { kNormal, kReserved };

// Where a ring's records lie, and how many there are: a power of two, at least 64.
struct Records {
  Record *first;
  uint64_t capacity;

  // Of all positions: they go round.
  Record &at(uint64_t i) const { return first[i & (capacity - 1)]; }
  uint64_t reserve() const { return capacity / 16; }
};

class Ring {
 public:
  // REQUIRES: no producer and no consumer is active.
  void reset() {
    tail_.store(0, std::memory_order_relaxed);
    limit_.store(0, std::memory_order_relaxed);
    dropped_.store(0, std::memory_order_relaxed);
    lost_count_.store(0, std::memory_order_relaxed);
    lost_from_.store(0, std::memory_order_relaxed);
    head_.store(0, std::memory_order_release);
  }

  // Appends one event of n <= 4 records, or drops and counts it. `now` bounds the lost range.
  bool push(Records records, const Record *event, unsigned n, Space space, uint64_t now) {
    uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (__builtin_expect(tail + n > limit_.load(std::memory_order_relaxed), 0)) {
      if (!make_room(records, n, space, now)) {
        drop(n, now);
        return false;
      }
      tail = tail_.load(std::memory_order_relaxed);
    }
    for (unsigned i = 0; i < n; ++i) records.at(tail + i) = event[i];
    tail_.store(tail + n, std::memory_order_release);
    return true;
  }

  // push() of one record where there is room without a look at the consumer; else false, nothing done.
  bool push_quickly(Records records, Record record) {
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    if (__builtin_expect(tail >= limit_.load(std::memory_order_relaxed), 0)) return false;
    records.at(tail) = record;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Counts `n` records as lost at `now`. Safe in a signal handler that interrupts push().
  void drop(uint64_t n, uint64_t now) {
    dropped_.fetch_add(n, std::memory_order_relaxed);
    uint64_t none = 0;
    lost_from_.compare_exchange_strong(none, now, std::memory_order_relaxed);
    lost_count_.fetch_add(n, std::memory_order_relaxed);
    limit_.store(0, std::memory_order_relaxed);  // the next push looks at the loss
  }

  // Writes a pending LOST if there is room for it at all (a thread's last chance).
  void flush_loss(Records records, uint64_t now) {
    if (lost_count_.load(std::memory_order_relaxed) != 0 && free_space(records) >= 2) write_loss(records, now);
  }

  struct Span {
    const Record *first[2];
    uint64_t count[2];
    uint64_t total() const { return count[0] + count[1]; }
  };

  // The committed records, as one or two pieces; valid until consume_to(). `taken` is how many the consumer has taken
  // since reset(). What cannot be true is taken for an empty ring.
  Span peek(Records records, uint64_t taken) const {
    uint64_t n = tail_.load(std::memory_order_acquire) - taken;
    if (n > records.capacity) n = 0;
    const uint64_t at = taken & (records.capacity - 1), to_wrap = records.capacity - at;
    const uint64_t first = n < to_wrap ? n : to_wrap;
    return {{records.first + at, records.first}, {first, n - first}};
  }
  void consume_to(uint64_t taken) { head_.store(taken, std::memory_order_release); }

  // Records committed since reset; committed() + dropped() is every record the thread wanted to write.
  uint64_t committed() const { return tail_.load(std::memory_order_acquire); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // A loss that no LOST record tells yet.
  uint64_t lost_count() const { return lost_count_.load(std::memory_order_relaxed); }
  uint64_t lost_from() const { return lost_from_.load(std::memory_order_relaxed); }

 private:
  friend struct EntryOffsets;  // probe.cpp

  uint64_t free_space(Records records) const {
    return records.capacity - (tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire));
  }

  uint64_t normal_space(Records records) const {
    const uint64_t free = free_space(records);
    return free > records.reserve() ? free - records.reserve() : 0;
  }

  __attribute__((noinline)) bool make_room(Records records, unsigned n, Space space, uint64_t now) {
    const bool recovering = lost_count_.load(std::memory_order_relaxed) != 0;
    if (recovering && normal_space(records) < records.capacity / 4)
      return space == Space::kReserved && free_space(records) >= n;
    if (recovering) write_loss(records, now);
    const uint64_t limit = tail_.load(std::memory_order_relaxed) + normal_space(records);
    limit_.store(limit, std::memory_order_relaxed);
    if (tail_.load(std::memory_order_relaxed) + n <= limit) return true;
    return space == Space::kReserved && free_space(records) >= n;
  }

  // `lost_from_` is taken first: a handler's drop() in between is then counted here and leaves an early bound, never
  // none.
  void write_loss(Records records, uint64_t now) {
    const uint64_t from = lost_from_.exchange(0, std::memory_order_relaxed);
    const uint64_t count = lost_count_.exchange(0, std::memory_order_relaxed);
    const uint64_t tail = tail_.load(std::memory_order_relaxed);
    records.at(tail) = make_record(Kind::kLost, now, 0, from);
    records.at(tail + 1) = make_record(Kind::kCount, 0, 0, count);
    tail_.store(tail + 2, std::memory_order_release);
  }

  // Written by the producer.
  alignas(64) std::atomic<uint64_t> tail_;
  std::atomic<uint64_t> limit_;  // push without a look at head_ up to here
  std::atomic<uint64_t> dropped_;
  std::atomic<uint64_t> lost_count_;
  std::atomic<uint64_t> lost_from_;
  // Written by the consumer.
  alignas(64) std::atomic<uint64_t> head_;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free, "shared between processes");

}  // namespace vprof

#endif
