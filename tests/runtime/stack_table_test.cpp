#include "stack_table.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace vprof {
namespace {

CallStack stack_of(const std::vector<uint64_t> &places) {
  CallStack stack;
  stack.count = static_cast<uint32_t>(places.size());
  std::copy(places.begin(), places.end(), stack.places);
  return stack;
}

TEST(StackTable, EqualStacksHaveOneNumber) {
  auto table = std::make_unique<StackTable>();
  const uint32_t a = table->intern(stack_of({1, 2, 3})), b = table->intern(stack_of({1, 2}));
  EXPECT_NE(a, b);
  EXPECT_EQ(table->intern(stack_of({1, 2, 3})), a);
  CallStack back;
  ASSERT_TRUE(table->get(a, &back));
  EXPECT_EQ(back.count, 3u);
  EXPECT_EQ(back.places[2], 3u);
  EXPECT_FALSE(table->get(b + 1, &back));
}

TEST(StackTable, AFullTableGivesNone) {
  auto table = std::make_unique<StackTable>();
  for (uint32_t i = 1; i <= StackTable::kMaxStacks; ++i) ASSERT_EQ(table->intern(stack_of({i, 7})), i);
  EXPECT_EQ(table->intern(stack_of({5000, 7})), 0u);
  EXPECT_EQ(table->intern(stack_of({17, 7})), 17u);
  EXPECT_EQ(table->last(), StackTable::kMaxStacks);
}

// Another process of the session may have written anything over it.
TEST(StackTable, AnOverwrittenTableStaysWithinItself) {
  auto table = std::make_unique<StackTable>();
  CallStack back;
  for (const int byte : {0x01, 0x03, 0x41, 0xff}) {
    memset(static_cast<void *>(table.get()), byte, sizeof *table);
    EXPECT_LE(table->intern(stack_of({1, 2})), StackTable::kMaxStacks) << byte;
    EXPECT_LE(table->last(), StackTable::kMaxStacks);
    table->get(StackTable::kMaxStacks, &back);
    EXPECT_LE(back.count, kMaxStackPlaces);
  }
}

TEST(StackTable, RacingThreadsAgree) {
  auto table = std::make_unique<StackTable>();
  std::vector<std::vector<uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto &mine : numbers)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 300; ++i) mine.push_back(table->intern(stack_of({i, i + 1, 9})));
    });
  for (std::thread &t : threads) t.join();
  for (const auto &mine : numbers) EXPECT_EQ(mine, numbers[0]);
}

TEST(StackTable, APlaceIsAModuleAndAnAddress) {
  const uint64_t place = place_in(255, 0x7fffdeadbeef);
  EXPECT_EQ(module_of(place), 255u);
  EXPECT_EQ(address_of(place), 0x7fffdeadbeefu);
}

}  // namespace
}  // namespace vprof
