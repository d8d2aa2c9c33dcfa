// The latencies of intervals so far, from their records as they are stored: for who watches a recording.
//
//     INTERVAL_BEGIN and INTERVAL_END of an id, in any order -> a count in the bucket of their distance -> quantiles
//
// Buckets are a sixteenth of a power of two wide. What the program does not annotate as an interval is not known here.
#ifndef VPROF_LATENCIES_H
#define VPROF_LATENCIES_H

#include <array>
#include <cstdint>
#include <unordered_map>

namespace vprof {

class Latencies {
 public:
  // An interval begins, or ends, at that time in ticks.
  void note(uint64_t id, uint64_t ticks) {
    if (half_.size() >= kMostOpen) half_.clear();  // what never ends must not grow
    const auto [other, is_first] = half_.emplace(id, ticks);
    if (is_first) return;
    add(ticks > other->second ? ticks - other->second : other->second - ticks);
    half_.erase(other);
  }

  // So many ticks that `part` of the intervals took no more, to a sixteenth; 0: there is none.
  uint64_t quantile(double part) const {
    uint64_t below = 0;
    for (uint32_t b = 0; b < counts_.size(); ++b) {
      below += counts_[b];
      if (below != 0 && static_cast<double>(below) >= part * static_cast<double>(count_)) return highest_of(b);
    }
    return 0;
  }

  void clear() {
    half_.clear();
    counts_.fill(0);
    count_ = 0;
  }

 private:
  static constexpr size_t kMostOpen = 1 << 16;
  static constexpr unsigned kFineBits = 4, kFine = 1 << kFineBits;

  static uint32_t bucket_of(uint64_t ticks) {
    if (ticks < kFine) return static_cast<uint32_t>(ticks);
    const unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(ticks)) - kFineBits;
    return static_cast<uint32_t>((shift + 1) * kFine + ((ticks >> shift) & (kFine - 1)));
  }
  static uint64_t highest_of(uint32_t bucket) {
    if (bucket < kFine) return bucket;
    const unsigned shift = bucket / kFine - 1;
    return ((uint64_t{kFine} + bucket % kFine) << shift) + ((uint64_t{1} << shift) - 1);
  }

  void add(uint64_t ticks) {
    ++counts_[bucket_of(ticks)];
    ++count_;
  }

  std::unordered_map<uint64_t, uint64_t> half_;  // of those of which one end is known
  std::array<uint64_t, (64 - kFineBits + 1) * kFine> counts_{};
  uint64_t count_ = 0;
};

}  // namespace vprof

#endif
