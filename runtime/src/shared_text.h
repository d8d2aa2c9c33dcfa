// A session's file `text` (SESSION.md): of each module with probes before bodies a copy of its code, which all
// processes execute and only the collector writes. So one store switches a probe in all of them, and an off probe is
// its no-op.
//
//     text = header | copy, table | copy, table | ...        all begin on pages
//
// A module's first process makes copy and table, by a mapping that it gives up at once; what it executes is a private
// mapping of a read-only descriptor, so what it writes there later nobody else sees. Whoever could write here could
// write the arena, too, but a process that has given up its rights since cannot: unlike the arena it decides what
// others execute.
//
// All stale instructions are right, since the wrapper looks at the switch byte. How one is changed while others execute
// it: arch/*/text_instructions.h.
#ifndef VPROF_SHARED_TEXT_H
#define VPROF_SHARED_TEXT_H

#include <string.h>

#include "arena.h"
#include "text_instructions.h"

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
