#include "texts.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

namespace vprof {

constexpr unsigned char kOn = 1;

Texts::~Texts() {
  for (const Copy &copy : copies_) munmap(copy.begin, copy.bytes);
}

uint32_t Texts::refresh() {
  uint32_t lost = 0;
  for (const uint32_t count = header_->known(); seen_ < count; ++seen_) lost += take(header_->regions[seen_]);
  return lost;
}

uint32_t Texts::take(const TextRegion &shared) {
  const TextRegion region = shared;
  struct stat st;
  if (fstat(file_, &st) != 0 || !region.is_possible(static_cast<uint64_t>(st.st_size)) || region.sites == 0) return 0;
  const size_t table_bytes = region.sites * sizeof(TextSite);
  void *table = mmap(nullptr, table_bytes, PROT_READ, MAP_SHARED, file_, static_cast<off_t>(region.table));
  void *code = mmap(nullptr, region.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(region.copy));
  if (table != MAP_FAILED && code != MAP_FAILED) {
    Copy copy = {static_cast<unsigned char *>(code), region.bytes, region.base, {}};
    copy.sites = checked(copy, static_cast<const TextSite *>(table), region.sites);
    copies_.push_back(std::move(copy));
    follow(0, kMaxSites);
  } else if (code != MAP_FAILED) {
    munmap(code, region.bytes);
  }
  if (table != MAP_FAILED) munmap(table, table_bytes);
  return table == MAP_FAILED || code == MAP_FAILED ? region.sites : 0;
}

std::vector<TextSite> Texts::checked(const Copy &copy, const TextSite *table, uint32_t count) {
  std::vector<TextSite> sites;
  for (uint32_t i = 0; i < count; ++i) {
    const TextSite site = table[i];
    const int64_t target = int64_t{site.at} + int64_t{kJumpBytes} + site.distance;
    if (site.at + uint64_t{8} <= copy.bytes && can_be_switched(site.at) && target >= 0 &&
        static_cast<uint64_t>(target) < copy.bytes && uint64_t{copy.base} + site.site < kMaxSites &&
        is_probe(read_instruction(copy.begin + site.at), site.distance))
      sites.push_back(site);
  }
  std::sort(sites.begin(), sites.end(), [](const TextSite &a, const TextSite &b) { return a.site < b.site; });
  return sites;
}

void Texts::follow(uint32_t first, uint32_t count) {
  const uint64_t end = uint64_t{first} + count;
  for (const Copy &copy : copies_) {
    const auto before = [&](const TextSite &site, uint64_t number) { return uint64_t{copy.base} + site.site < number; };
    auto site = std::lower_bound(copy.sites.begin(), copy.sites.end(), uint64_t{first}, before);
    for (; site != copy.sites.end() && uint64_t{copy.base} + site->site < end; ++site)
      write_instruction(copy.begin + site->at, site->distance, switches_[copy.base + site->site] == kOn);
  }
}

}  // namespace vprof
