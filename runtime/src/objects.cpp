#include "objects.h"

namespace vprof {

// Takes over `e` from `old` (0: it was free). The stamp of the former object must not explain waits for the new one.
static bool take(ObjectEntry &e, uint64_t old, uint64_t key) {
  if (!e.key.compare_exchange_strong(old, key, std::memory_order_acq_rel)) return old == key;
  for (std::atomic<uint64_t> &word : e.condition.signals) word.store(0, std::memory_order_relaxed);
  e.stamp.store(0, std::memory_order_release);
  return true;
}

ObjectEntry *ObjectTable::claim(uint64_t key) {
  for (uint32_t i = 0; i < kProbes; ++i) {
    ObjectEntry &e = entries_[(slot_of(key) + i) % kEntries];
    const uint64_t k = e.key.load(std::memory_order_acquire);
    if (k == key || (k == 0 && take(e, 0, key))) return &e;
  }
  for (uint32_t i = 0; i < kProbes; ++i) {
    ObjectEntry &e = entries_[(slot_of(key) + i) % kEntries];
    const uint64_t k = e.key.load(std::memory_order_acquire);
    if (e.waiters.load(std::memory_order_relaxed) == 0 && take(e, k, key)) return &e;
  }
  return nullptr;
}

ObjectEntry *ObjectTable::add_waiter(uint64_t key) {
  for (uint32_t i = 0; i < kTries; ++i) {
    ObjectEntry *e = claim(key);
    if (e == nullptr) return nullptr;
    e->waiters.fetch_add(1, std::memory_order_seq_cst);
    if (e->key.load(std::memory_order_acquire) == key) return e;
    e->waiters.fetch_sub(1, std::memory_order_relaxed);  // evicted before we were counted: again
  }
  return nullptr;
}

}  // namespace vprof
