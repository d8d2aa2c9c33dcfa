// Tables of short texts, interned as numbers from 1 on, shared by all processes of a session: the types of intervals,
// and what programs call that for which they wait.
//
// Lock-free and safe in signal handlers: a text is written into an entry of its own first and then published by one CAS
// of the index; the loser of a race finds the winner's equal text and leaves its entry unused. Nothing is ever removed.
// Whatever others write over the table, a search ends after kIndexSize places and stays within it.
#ifndef VPROF_LABELS_H
#define VPROF_LABELS_H

#include <atomic>
#include <cstdint>

namespace vprof {

template <uint32_t kMost>
class TextTable {
 public:
  static constexpr uint32_t kMaxTexts = kMost;
  static constexpr uint32_t kMaxText = 63;

  // The number of `text` (cut at 63 bytes); 0 for null or if the table is full.
  uint32_t intern(const char *text);

  // The text of `number`, or null while it has none.
  const char *text(uint32_t number) const {
    const Entry &e = entries_[number];
    return e.ready.load(std::memory_order_acquire) != 0 ? e.text : nullptr;
  }

  // No number above this one has been given.
  uint32_t last() const {
    const uint32_t n = used_.load(std::memory_order_acquire);
    return n < kMaxTexts ? n : kMaxTexts;
  }

 private:
  // At most half full: a search ends soon at an empty place.
  static constexpr uint32_t kIndexSize = 2 * (kMaxTexts + 1);

  struct Entry {
    char text[kMaxText];
    std::atomic<uint8_t> ready;
  };

  uint32_t add(const char *text, uint32_t length);

  std::atomic<uint32_t> used_;
  std::atomic<uint16_t> index_[kIndexSize];
  Entry entries_[kMaxTexts + 1];
};

using LabelTable = TextTable<2047>;  // 11 bits of aux of INTERVAL_END, TRACE_FORMAT.md section 2
using NameTable = TextTable<16383>;  // 1 MiB, of which pages that nobody has used take nothing

extern template class TextTable<LabelTable::kMaxTexts>;
extern template class TextTable<NameTable::kMaxTexts>;

}  // namespace vprof

#endif
