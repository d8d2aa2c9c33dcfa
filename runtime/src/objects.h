// The object table: who released a synchronization object last, and whether anybody waits for it.
//
//     waiter:    claim(key), waiters + 1, block, read stamp, waiters - 1
//     releaser:  find(key): absent -> nothing to do, nobody has ever waited; else store stamp, real release, look at
//     waiters again
//
// Source: docs/algorithms.md section 7. Only an object that was contended once has an entry, so releases of
// all others only read. A full neighbourhood evicts an entry nobody waits for; a releaser caught exactly between its
// look at the key and its store can then stamp the newcomer, which is the one known way to a wrong waker (it needs 8
// contended objects of one hash).
#ifndef VPROF_OBJECTS_H
#define VPROF_OBJECTS_H

#include <atomic>
#include <cstdint>

namespace vprof {

// Who released, and when: uid (low 24 bits), whether the time is known, and the low 39 bits of the ticks, in one word
// that is stored at once. 2^39 ticks are minutes; a wake-up is resolved within microseconds.
class Stamp {
 public:
  static constexpr unsigned kTimeBits = 39;
  static constexpr unsigned kUidBits = 24;

  static constexpr uint64_t with_time(uint32_t uid, uint64_t ticks) {
    return without_time(uid) | uint64_t{1} << kTimeBits | (ticks & ((uint64_t{1} << kTimeBits) - 1));
  }
  static constexpr uint64_t without_time(uint32_t uid) { return uint64_t{uid} << (kTimeBits + 1); }

  static constexpr bool has_time(uint64_t stamp) { return stamp >> kTimeBits & 1; }

  // The full time, given a later one.
  static constexpr uint64_t time(uint64_t stamp, uint64_t later) {
    return later - ((later - stamp) & ((uint64_t{1} << kTimeBits) - 1));
  }

  // The full uid: the largest not above `newest` with the same low bits; 0 = none.
  static constexpr uint32_t uid(uint64_t stamp, uint32_t newest) {
    const uint32_t low = static_cast<uint32_t>(stamp >> (kTimeBits + 1));
    return low == 0 ? 0 : newest - ((newest - low) & ((1u << kUidBits) - 1));
  }
};

// What only one class needs.
struct BarrierState {
  std::atomic<uint64_t> arrivals;  // since it was made
  std::atomic<uint64_t> parties;   // threads of a round
};
struct FutexState {
  std::atomic<uint64_t> requeued_at;  // ticks when waiters were last moved ...
  std::atomic<uint64_t> requeued_to;  // ... to this key
};
struct ConditionState {
  static constexpr uint32_t kPlaces = 5;
  std::atomic<uint64_t> signals[kPlaces];  // signals_of_conditions.h
};

struct alignas(64) ObjectEntry {
  std::atomic<uint64_t> key;  // 0 = free
  std::atomic<uint64_t> stamp;
  std::atomic<uint32_t> waiters;
  union {                      // all 0 in a new entry
    ConditionState condition;  // the largest
    BarrierState barrier;
    FutexState futex;
  };
};
static_assert(sizeof(ObjectEntry) == 64);

class ObjectTable {
 public:
  static constexpr uint32_t kEntries = 16384;
  static constexpr uint32_t kProbes = 8;

  // Where the entry of `key` lies if its hash is no other's: while this place is free, nobody has waited for it.
  ObjectEntry *home(uint64_t key) { return &entries_[slot_of(key) % kEntries]; }

  // The entry of `key` (not 0), or null if it was never waited for.
  ObjectEntry *find(uint64_t key) {
    for (uint32_t i = 0; i < kProbes; ++i) {
      ObjectEntry &e = entries_[(slot_of(key) + i) % kEntries];
      const uint64_t k = e.key.load(std::memory_order_acquire);
      if (k == key) return &e;
      if (k == 0) return nullptr;
    }
    return nullptr;
  }

  // The entry of `key`, made if need be, with one more waiter; null if all places are taken by objects somebody waits
  // for, or the entry is evicted again and again.
  ObjectEntry *add_waiter(uint64_t key);

  // The entry of `key`, made if need be; null as above.
  ObjectEntry *claim(uint64_t key);

 private:
  static constexpr uint32_t kTries = 64;  // one is evicted seldom; only who overwrites the table does it ever again

  static uint32_t slot_of(uint64_t key) { return static_cast<uint32_t>(key * 0x9E3779B97F4A7C15u >> 40); }

  ObjectEntry entries_[kEntries];
};

}  // namespace vprof

#endif
