#include "mappings.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace vprof {
namespace {

constexpr uint64_t kStart = 0x7f0000000000, kPage = 4096, kName = 1000000;

TEST(Mappings, NameEachByteByItsPlaceInTheMemory) {
  Mappings mappings;
  mappings.enter(kStart, 4 * kPage, kName);
  mappings.enter(kStart + (1 << 30), 4 * kPage, kName);  // the same memory elsewhere
  EXPECT_EQ(mappings.find(kStart), kName);
  EXPECT_EQ(mappings.find(kStart + 4 * kPage - 1), kName + 4 * kPage - 1);
  EXPECT_EQ(mappings.find(kStart + (1 << 30) + 7), mappings.find(kStart + 7));
  EXPECT_EQ(mappings.find(kStart - 1), 0u);
  EXPECT_EQ(mappings.find(kStart + 4 * kPage), 0u);
}

TEST(Mappings, PartsThatAreUnmappedLeaveTheRestAsItWas) {
  Mappings mappings;
  mappings.enter(kStart, 6 * kPage, kName);
  mappings.forget(kStart - kPage, 2 * kPage);      // the first page
  mappings.forget(kStart + 2 * kPage, kPage);      // one in the middle
  mappings.forget(kStart + 5 * kPage, 9 * kPage);  // the last
  const bool known[] = {false, true, false, true, true, false};
  for (uint64_t page = 0; page < 6; ++page)
    EXPECT_EQ(mappings.find(kStart + page * kPage), known[page] ? kName + page * kPage : 0) << page;
}

TEST(Mappings, AnotherMappingInItsPlaceHasItsOwnName) {
  Mappings mappings;
  mappings.enter(kStart, kPage, kName);
  mappings.forget(kStart, kPage);
  mappings.enter(kStart, 2 * kPage, 2 * kName);
  EXPECT_EQ(mappings.find(kStart + 5), 2 * kName + 5);
  EXPECT_EQ(mappings.length_at(kStart), 2 * kPage);
}

TEST(Mappings, AFullTableLeavesTheNewestUnknown) {
  Mappings mappings;
  for (uint64_t i = 0; i <= Mappings::kEntries; ++i) mappings.enter(kStart + i * kPage, kPage, kName + i * kPage);
  EXPECT_EQ(mappings.find(kStart), kName);
  EXPECT_EQ(mappings.find(kStart + Mappings::kEntries * kPage), 0u);
  mappings.forget(kStart, kPage);
  mappings.enter(kStart + Mappings::kEntries * kPage, kPage, 5);
  EXPECT_EQ(mappings.find(kStart + Mappings::kEntries * kPage), 5u);
}

// Threads map and unmap memory of their own; what stays mapped is found by all at any time.
TEST(Mappings, ChangesElsewhereNeverHideAMapping) {
  static Mappings mappings;
  mappings.enter(kStart, kPage, kName);
  std::atomic<bool> stop{false};
  std::vector<std::thread> mappers;
  for (uint64_t t = 1; t <= 3; ++t)
    mappers.emplace_back([&, t] {
      for (uint64_t start = kStart + t * (1 << 20); !stop;) {
        mappings.enter(start, 4 * kPage, t << 40);
        EXPECT_EQ(mappings.find(start + kPage), (t << 40) + kPage);
        mappings.forget(start + kPage, kPage);
        EXPECT_EQ(mappings.find(start + kPage), 0u);
        mappings.forget(start, 4 * kPage);
      }
    });
  for (int i = 0; i < 2000000; ++i) ASSERT_EQ(mappings.find(kStart + 9), kName + 9);
  stop = true;
  for (std::thread &mapper : mappers) mapper.join();
}

}  // namespace
}  // namespace vprof
