// Calls whose place is told by their return address (PROBE_ABI.md "Call numbers"): by entry.S and by its slow
// functions.
#include "in_process.h"
#include "shadow_stack.h"

extern "C" {
uint16_t *__vprof_enter(uint32_t called, void *frame);
void __vprof_leave(void *frame);
}

namespace vprof {
namespace {

constexpr uint32_t kFrom = 0x2f5u << kSiteBits;  // the low bits of a return address

uint16_t *enter_in_assembly(Slot *, uint32_t called, uint64_t *frame) {
  return __vprof_enter(called, frame);
}
uint16_t *enter_in_cxx(Slot *slot, uint32_t called, uint64_t *frame) {
  return enter(slot, called, reinterpret_cast<uint64_t>(frame), reinterpret_cast<uint64_t>(frame));
}

// The sites and the numbers of the calls, callee first.
std::vector<std::pair<uint32_t, uint32_t>> take_sites_and_numbers(Slot *slot) {
  std::vector<std::pair<uint32_t, uint32_t>> taken;
  for (const Record &r : take_records(slot)) taken.push_back({site_of(r.w1), call_of(r.w1)});
  return taken;
}

class ReturnAddress : public testing::TestWithParam<uint16_t *(*)(Slot *, uint32_t, uint64_t *)> {};

TEST_P(ReturnAddress, CountsWhereTheCallerSaysSo) {
  on_new_thread([](Slot *slot) {
    uint64_t frames[2];
    for (const uint16_t number : {uint16_t{0}, uint16_t{7}, kByReturnAddress}) {
      *GetParam()(slot, 70 | kFrom, &frames[1]) = number;
      EXPECT_EQ(*GetParam()(slot, 71 | kFrom, &frames[0]), 0u);
      __vprof_leave(&frames[0]);
      __vprof_leave(&frames[1]);
    }
    using Taken = std::vector<std::pair<uint32_t, uint32_t>>;
    EXPECT_EQ(take_sites_and_numbers(slot), (Taken{{71, 0}, {70, 0}, {71, 7}, {70, 0}, {71, 0x2f5}, {70, 0}}));
  });
}

TEST_P(ReturnAddress, IsNotKnownOfEachProbe) {
  on_new_thread([](Slot *slot) {
    uint64_t frames[2];
    *GetParam()(slot, 70, &frames[1]) = kByReturnAddress;
    GetParam()(slot, kMaxSites - 1, &frames[0]);
    __vprof_leave(&frames[0]);
    __vprof_leave(&frames[1]);
    EXPECT_EQ(take_sites_and_numbers(slot).at(0), std::make_pair(uint32_t{kMaxSites} - 1, 0u));
  });
}

INSTANTIATE_TEST_SUITE_P(Both, ReturnAddress, testing::Values(enter_in_assembly, enter_in_cxx));

}  // namespace
}  // namespace vprof
