// What others execute while it is changed: always the no-op, with any last byte, or the jump.
#include "shared_text.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace vprof {
namespace {

constexpr int32_t kDistance = 0x12345678;

struct alignas(16) Line {
  unsigned char bytes[32];
};

Line code_with_no_op(uint64_t at) {
  Line code;
  memset(code.bytes, 0x90, sizeof code.bytes);
  memcpy(code.bytes + at, &kNoOp, kJumpBytes);
  return code;
}

TEST(SharedText, SwitchesWhatLiesInOneWordAndBehindALandingPad) {
  std::vector<uint64_t> switchable;
  for (uint64_t at = 0; at < 16; ++at)
    if (can_be_switched(at)) switchable.push_back(at);
  EXPECT_EQ(switchable, (std::vector<uint64_t>{0, 1, 2, 3, 4, 8, 9, 10, 11}));
}

TEST(SharedText, GoesToTheJumpAndBack) {
  for (const uint64_t at : {0, 1, 2, 3, 4, 8, 11}) {
    Line code = code_with_no_op(at);
    const Line before = code;
    write_instruction(code.bytes + at, kDistance, true);
    EXPECT_EQ(read_instruction(code.bytes + at), jump_of(kDistance));
    EXPECT_EQ(code.bytes[at], 0xe9);
    EXPECT_EQ(memcmp(code.bytes + at + 1, &kDistance, sizeof kDistance), 0);
    memcpy(code.bytes + at, before.bytes + at, kJumpBytes);
    EXPECT_EQ(memcmp(&code, &before, sizeof code), 0);  // nothing around it
    write_instruction(code.bytes + at, kDistance, true);
    write_instruction(code.bytes + at, kDistance, false);
    EXPECT_TRUE(is_probe(read_instruction(code.bytes + at), 0));
    EXPECT_EQ(memcmp(code.bytes + at, before.bytes + at, at == 4 ? 4 : 5), 0);
  }
}

TEST(SharedText, ShowsOthersAProbeAtEveryMoment) {
  for (const uint64_t at : {0, 3, 4}) {
    Line code = code_with_no_op(at);
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> seen{0};
    uint64_t wrong = 0;
    std::thread other([&] {
      for (; !stop.load(std::memory_order_relaxed); ++seen)
        wrong += !is_probe(read_instruction(code.bytes + at), kDistance);
    });
    while (seen.load() == 0) std::this_thread::yield();
    for (int i = 0; i < 200000; ++i) write_instruction(code.bytes + at, kDistance, i % 2 == 0);
    stop = true;
    other.join();
    EXPECT_EQ(wrong, 0u);
  }
}

TEST(SharedText, KnowsRegionsThatLieInTheFile) {
  const uint64_t size = 10 * kPage;
  EXPECT_TRUE((TextRegion{0, 1, kPage, 2 * kPage, 3 * kPage}.is_possible(size)));
  EXPECT_FALSE((TextRegion{0, 1, kPage, 0, 3 * kPage}.is_possible(size)));
  EXPECT_FALSE((TextRegion{0, 1, kPage + 1, kPage, 3 * kPage}.is_possible(size)));
  EXPECT_FALSE((TextRegion{0, 1, kPage, 10 * kPage, 3 * kPage}.is_possible(size)));
  EXPECT_FALSE((TextRegion{0, 1, ~uint64_t{0} - kPage + 1, 2 * kPage, 3 * kPage}.is_possible(size)));
  EXPECT_FALSE((TextRegion{0, ~uint32_t{0}, kPage, kPage, 3 * kPage}.is_possible(size)));
}

}  // namespace
}  // namespace vprof
