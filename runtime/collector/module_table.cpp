#include "module_table.h"

#include <string.h>

#include <algorithm>

namespace vprof {

const std::vector<KnownModule> &ModuleTable::refresh() {
  const uint32_t count = std::min(arena_->module_count.load(std::memory_order_acquire), kMaxModules);
  while (known_.size() < count) known_.push_back(read(static_cast<uint32_t>(known_.size())));
  return known_;
}

// Modules take their ranges one after the other (src/modules.cpp).
KnownModule ModuleTable::read(uint32_t index) {
  const Module &m = arena_->modules[index];
  KnownModule known = {std::string(m.path, strnlen(m.path, sizeof m.path)),
                       read_once(m.base),
                       read_once(m.count),
                       read_once(m.section_addr),
                       read_once(m.state) == Module::kMapped,
                       false};
  known.base = std::min(known.base, kMaxSites);
  known.count = std::min(known.count, kMaxSites);
  if (!known.mapped) return known;
  const bool possible = known.base >= sites_used_ && known.base % kPage == 0 && known.count >= kSwitchHeaderBytes &&
                        known.base <= kMaxSites && known.count <= kMaxSites - known.base;
  if (!possible) {
    known.base = known.count = 0;
    known.mapped = false;
  }
  sites_used_ = std::max(sites_used_, known.base + known.count);
  return known;
}

void ModuleTable::acknowledge(uint32_t index) {
  known_[index].acked = true;
  arena_->modules[index].acked.store(1, std::memory_order_release);
}

}  // namespace vprof
