// A session's file `text` (SESSION.md): of each module with probes before bodies a copy of its code, which all
// processes execute and only the collector writes. So one store switches a probe in all of them, and an off probe is
// its no-op.
//
//     text = header | copy, table | copy, table | ...        all begin on pages
//
// A module's first process makes copy and table, by a mapping that it gives up at once; what it executes comes from a
// read-only descriptor, which nothing can make writable later. Whoever could write here could write the arena, too, but
// a process that has given up its rights since cannot: unlike the arena it decides what others execute.
//
// How an instruction is changed while others execute it: by one store within an aligned word of 8 bytes, so that a CPU
// fetches the old one or the new one. AMD's manual allows that; Intel's promises nothing and does not say that it
// fails: HotSpot, .NET and XRay rely on it. All stale instructions are right, since the wrapper looks at the switch
// byte. Behind endbr64 only the first four bytes lie in one word. The fifth is stored before them, while the
// instruction is a no-op whatever it is, and then stays.
#ifndef VPROF_SHARED_TEXT_H
#define VPROF_SHARED_TEXT_H

#include <string.h>

#include "arena.h"

namespace vprof {

constexpr char kTextMagic[8] = {'V', 'P', 'R', 'O', 'F', 'T', 'X', '2'};
constexpr uint64_t kMostTextBytes = 512u << 20;  // of the file, which is sparse

// A function whose probe stands before its body.
struct TextSite {
  uint32_t at;       // its no-op, from the copy's start
  int32_t distance;  // of the jump: from its end to the stub
  uint32_t site;     // its switch byte, from the module's first
};

struct TextRegion {
  uint32_t base;   // first site number of the module
  uint32_t sites;  // entries of the table: those that can be switched
  uint64_t copy;   // where it begins in the file
  uint64_t bytes;  // of the copy, whole pages
  uint64_t table;

  // Within a file of that size.
  bool is_possible(uint64_t size) const {
    return copy % kPage == 0 && bytes % kPage == 0 && table % kPage == 0 && bytes != 0 && copy <= size &&
           bytes <= size - copy && table <= size && uint64_t{sites} * sizeof(TextSite) <= size - table;
  }
};

struct TextHeader {
  unsigned char elf[128];  // 0; `vprof ctl symbols` makes the file one that perf finds names in
  char magic[8];
  uint8_t session_id[16];
  uint64_t used;                // bytes of the file
  std::atomic<uint32_t> count;  // of the regions, which never change
  TextRegion regions[kMaxModules];

  uint32_t known() const {
    const uint32_t n = count.load(std::memory_order_acquire);
    return n < kMaxModules ? n : kMaxModules;
  }
};
constexpr size_t kTextHeaderBytes = round_to_page(sizeof(TextHeader));

constexpr uint64_t kJumpBytes = 5;
constexpr uint64_t kNoOp = 0x08'00'44'1f'0f;  // nopl 8(%rax,%rax)
constexpr uint64_t kJumpMask = (uint64_t{1} << 40) - 1;
constexpr uint32_t kFirstFour = ~uint32_t{0};

constexpr uint64_t jump_of(int32_t distance) {
  return 0xe9 | uint64_t{static_cast<uint32_t>(distance)} << 8;
}

constexpr bool lies_in_word(uint64_t address) {
  return address % 8 + kJumpBytes <= 8;
}

// Whether the instruction there can be changed while it is executed.
constexpr bool can_be_switched(uint64_t address) {
  return lies_in_word(address) || address % 16 == 4;
}

// The instruction's 5 bytes, whatever the collector writes meanwhile. REQUIRES: can_be_switched().
inline uint64_t read_instruction(const unsigned char *at) {
  const uint64_t address = reinterpret_cast<uint64_t>(at);
  if (lies_in_word(address)) {
    const uint64_t *word = reinterpret_cast<const uint64_t *>(address - address % 8);
    return __atomic_load_n(word, __ATOMIC_ACQUIRE) >> address % 8 * 8 & kJumpMask;
  }
  const uint64_t four = __atomic_load_n(reinterpret_cast<const uint32_t *>(at), __ATOMIC_ACQUIRE);
  return four | uint64_t{__atomic_load_n(at + 4, __ATOMIC_ACQUIRE)} << 32;
}

// A no-op, whatever its last byte is, or that jump.
constexpr bool is_probe(uint64_t instruction, int32_t distance) {
  return (instruction & kFirstFour) == (kNoOp & kFirstFour) || instruction == jump_of(distance);
}

// Makes it the jump or the no-op. REQUIRES: can_be_switched(), is_probe(); nobody else writes.
inline void write_instruction(unsigned char *at, int32_t distance, bool on) {
  const uint64_t address = reinterpret_cast<uint64_t>(at), wanted = on ? jump_of(distance) : kNoOp;
  if (lies_in_word(address)) {
    uint64_t *word = reinterpret_cast<uint64_t *>(address - address % 8);
    const uint64_t shift = address % 8 * 8, old = *word, changed = (old & ~(kJumpMask << shift)) | wanted << shift;
    if (changed != old) __atomic_store_n(word, changed, __ATOMIC_SEQ_CST);
    return;
  }
  uint32_t *four = reinterpret_cast<uint32_t *>(at);
  if (*four == static_cast<uint32_t>(wanted)) return;
  if (on) __atomic_store_n(at + 4, static_cast<unsigned char>(wanted >> 32), __ATOMIC_SEQ_CST);
  __atomic_store_n(four, static_cast<uint32_t>(wanted), __ATOMIC_SEQ_CST);
}

// A module's code in this process.
struct Code {
  uint64_t begin, bytes;  // whole pages
  const char *file;
  uint64_t offset;  // in the file
};

// Why a process keeps its own pages: bits of `own_text_why` in the arena; the collector has the words (collector.cpp).
enum Sharing : uint32_t { kShared = 0, kNoSession = 1, kNoRoom = 2, kRefused = 4, kDifferent = 8, kScattered = 16 };

// Executes a copy of the module's code that lies in the session. If that is refused, nothing has changed.
// `switches` are the module's, mapped; `sites` are in ascending order, with all no-ops of the code that have a stub.
Sharing share_text(const Code &code, const TextSite *sites, uint32_t count, const unsigned char *switches);

}  // namespace vprof

#endif
