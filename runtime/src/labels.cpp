#include "labels.h"

#include <string.h>

namespace vprof {

static uint32_t hash_text(const char *text, uint32_t length) {
  uint32_t h = 2166136261u;  // FNV-1a
  for (uint32_t i = 0; i < length; ++i) h = (h ^ static_cast<unsigned char>(text[i])) * 16777619u;
  return h ^ h >> 15;
}

// An entry of our own with `text`, or 0 if all are taken.
template <uint32_t kMost>
uint32_t TextTable<kMost>::add(const char *text, uint32_t length) {
  if (used_.load(std::memory_order_relaxed) >= kMaxTexts) return 0;
  const uint32_t number = used_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number == 0 || number > kMaxTexts) return 0;
  memcpy(entries_[number].text, text, length);  // the rest is zero: entries are written once
  entries_[number].ready.store(1, std::memory_order_release);
  return number;
}

template <uint32_t kMost>
uint32_t TextTable<kMost>::intern(const char *text) {
  if (text == nullptr) return 0;
  const uint32_t length = static_cast<uint32_t>(strnlen(text, kMaxText));
  uint32_t own = 0;
  const uint32_t home = hash_text(text, length);
  for (uint32_t i = 0; i < kIndexSize; ++i) {
    std::atomic<uint16_t> &place = index_[(home + i) % kIndexSize];
    uint16_t number = place.load(std::memory_order_acquire);
    if (number == 0) {
      if (own == 0) own = add(text, length);
      if (own == 0) return 0;
      if (place.compare_exchange_strong(number, static_cast<uint16_t>(own), std::memory_order_acq_rel)) return own;
    }
    if (number > kMaxTexts) continue;  // overwritten
    const char *known = entries_[number].text;
    if (strncmp(known, text, length) == 0 && (length == kMaxText || known[length] == '\0')) return number;
  }
  return 0;
}

template class TextTable<LabelTable::kMaxTexts>;
template class TextTable<NameTable::kMaxTexts>;

}  // namespace vprof
