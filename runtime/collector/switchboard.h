// Writes the switch bytes (PROBE_ABI.md "Switch bytes"): one store reaches every process of the session.
#ifndef VPROF_SWITCHBOARD_H
#define VPROF_SWITCHBOARD_H

#include <string_view>
#include <vector>

#include "drain.h"
#include "module_table.h"
#include "texts.h"

namespace vprof {

struct SiteRange {
  uint32_t first;
  uint32_t count;
};

// Parses site numbers "7 9-40 ..." (inclusive). False if malformed or empty.
bool parse_ranges(std::string_view text, std::vector<SiteRange> *ranges);

class Switchboard {
 public:
  Switchboard(const ModuleTable *modules, unsigned char *switches, Texts *texts, Recorder *recorder, const Drain *drain)
      : modules_(modules), switches_(switches), texts_(texts), recorder_(recorder), drain_(drain) {}

  struct Flip {
    uint64_t before;  // ticks
    uint64_t after;
  };

  // True if every site lies in a mapped module, outside its header.
  bool valid(const std::vector<SiteRange> &ranges) const;
  // REQUIRES: valid(ranges). Writes the `flip` event.
  Flip flip(const std::vector<SiteRange> &ranges, bool on);

  // Turns drained bytes off, a while after their flip: a thread that saw the byte on may not have its frame open yet.
  void settle();

  // All probes off, for the end of the session.
  void all_off();

 private:
  struct Draining {
    SiteRange range;
    uint64_t since_ns;
  };

  void drain_anew(SiteRange range, bool on);

  const ModuleTable *modules_;
  unsigned char *switches_;
  Texts *texts_;
  Recorder *recorder_;
  const Drain *drain_;
  std::vector<Draining> draining_;
};

}  // namespace vprof

#endif
