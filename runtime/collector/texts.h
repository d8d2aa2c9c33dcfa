// Switches probes before bodies in the copies of code that all processes execute (src/shared_text.h).
//
//     switch bytes -> follow() -> no-ops and jumps in `text`
//
// Programs make the copies; what they say of them is checked when it is first seen.
#ifndef VPROF_TEXTS_H
#define VPROF_TEXTS_H

#include <vector>

#include "../src/shared_text.h"

namespace vprof {

class Texts {
 public:
  // The descriptor and its header stay the caller's.
  Texts(int file, const TextHeader *header, const unsigned char *switches)
      : file_(file), header_(header), switches_(switches) {}
  Texts(const Texts &) = delete;
  Texts &operator=(const Texts &) = delete;
  ~Texts();

  // Copies that were made meanwhile, brought to the state of their switch bytes. Returns how many functions of theirs
  // can never be switched on.
  uint32_t refresh();

  // Brings the probes of these sites to the state of their switch bytes.
  void follow(uint32_t first, uint32_t count);

 private:
  struct Copy {
    unsigned char *begin;
    uint64_t bytes;
    uint32_t base;
    std::vector<TextSite> sites;  // ascending by site
  };

  uint32_t take(const TextRegion &region);
  static std::vector<TextSite> checked(const Copy &copy, const TextSite *table, uint32_t count);

  int file_;
  const TextHeader *header_;
  const unsigned char *switches_;
  std::vector<Copy> copies_;
  uint32_t seen_ = 0;  // regions
};

}  // namespace vprof

#endif
