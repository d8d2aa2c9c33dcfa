// The arena's module table as the collector reads it: checked copies. A program gone wild may overwrite the table at
// any time; whatever stands there, sites then lie within `switches` and texts end.
#ifndef VPROF_MODULE_TABLE_H
#define VPROF_MODULE_TABLE_H

#include <string.h>

#include <algorithm>
#include <string>

#include "../src/arena.h"

namespace vprof {

struct KnownModule {
  std::string path;
  uint32_t base;
  uint32_t count;  // 0 if the entry cannot be true
  uint64_t section_addr;
  bool mapped;
  bool acked;
};

inline uint32_t module_count(const Arena *arena) {
  return std::min(arena->module_count.load(std::memory_order_acquire), kMaxModules);
}

inline uint32_t sites_used(const Arena *arena) {
  return std::min(arena->sites_used.load(std::memory_order_acquire), kMaxSites);
}

// REQUIRES: index < module_count(arena).
inline KnownModule module_at(const Arena *arena, uint32_t index) {
  const Module &m = arena->modules[index];
  KnownModule known = {
      std::string(m.path, strnlen(m.path, sizeof m.path)), m.base, m.count, m.section_addr, m.state == Module::kMapped,
      m.acked.load(std::memory_order_relaxed) != 0};
  if (uint64_t{known.base} + known.count > kMaxSites) known.base = known.count = 0;
  return known;
}

}  // namespace vprof

#endif
