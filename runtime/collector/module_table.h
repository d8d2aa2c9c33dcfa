// The session's modules as the collector knows them: private copies, checked when they were taken.
//
// Programs append to the arena's module table, whose entries then never change (src/arena.h), so each is read once. A
// program gone wild, or a hostile one, may overwrite the table at any time: that changes nothing of what is known.
// Sites of known modules lie within `switches`, and no two modules share one.
#ifndef VPROF_MODULE_TABLE_H
#define VPROF_MODULE_TABLE_H

#include <string>
#include <vector>

#include "../src/arena.h"

namespace vprof {

struct KnownModule {
  std::string path;
  uint32_t base;
  uint32_t count;
  uint64_t section_addr;
  bool mapped;  // false also if the entry cannot be true: then base and count are 0
  bool acked;
};

class ModuleTable {
 public:
  explicit ModuleTable(Arena *arena) : arena_(arena) {}

  // All known modules, with those that were appended meanwhile.
  const std::vector<KnownModule> &refresh();

  const std::vector<KnownModule> &known() const { return known_; }
  // REQUIRES: index < known().size().
  void acknowledge(uint32_t index);

 private:
  KnownModule read(uint32_t index);

  Arena *arena_;
  std::vector<KnownModule> known_;
  uint32_t sites_used_ = 0;  // all sites of known modules lie below
};

}  // namespace vprof

#endif
