#include "labels.h"

#include <gtest/gtest.h>
#include <string.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace vprof {
namespace {

TEST(Labels, EqualTextsHaveOneNumber) {
  auto table = std::make_unique<LabelTable>();
  const uint32_t a = table->intern("new_order"), b = table->intern("payment");
  EXPECT_NE(a, b);
  EXPECT_EQ(table->intern(std::string("new_order").c_str()), a);
  EXPECT_STREQ(table->text(a), "new_order");
  EXPECT_EQ(table->intern(nullptr), 0u);
}

TEST(Labels, LongTextsAreCutAt63Bytes) {
  auto table = std::make_unique<LabelTable>();
  const std::string text(100, 'x');
  const uint32_t n = table->intern(text.c_str());
  EXPECT_EQ(std::string(table->text(n), LabelTable::kMaxText), text.substr(0, 63));
  EXPECT_EQ(table->intern(std::string(80, 'x').c_str()), n);
  EXPECT_NE(table->intern(std::string(62, 'x').c_str()), n) << "a prefix is another text";
}

TEST(Labels, AFullTableGivesNone) {
  auto table = std::make_unique<LabelTable>();
  for (uint32_t i = 1; i <= LabelTable::kMaxTexts; ++i) ASSERT_EQ(table->intern(std::to_string(i).c_str()), i);
  EXPECT_EQ(table->intern("one more"), 0u);
  EXPECT_EQ(table->intern("17"), 17u);
  EXPECT_EQ(table->last(), LabelTable::kMaxTexts);
}

TEST(Labels, ATableOfNamesHoldsMore) {
  auto table = std::make_unique<NameTable>();
  for (uint32_t i = 1; i <= NameTable::kMaxTexts; ++i) ASSERT_EQ(table->intern(std::to_string(i).c_str()), i);
  EXPECT_EQ(table->intern("one more"), 0u);
  EXPECT_STREQ(table->text(16383), "16383");
}

// Another process of the session may have written anything over it.
TEST(Labels, AnOverwrittenTableGivesNoneAndEnds) {
  auto table = std::make_unique<LabelTable>();
  for (const int byte : {0x01, 0x03, 0x41, 0xff}) {
    memset(static_cast<void *>(table.get()), byte, sizeof *table);
    EXPECT_LE(table->intern("new_order"), LabelTable::kMaxTexts) << byte;
    EXPECT_LE(table->last(), LabelTable::kMaxTexts);
  }
}

TEST(Labels, RacingThreadsAgree) {
  auto table = std::make_unique<LabelTable>();
  std::vector<std::vector<uint32_t>> numbers(4);
  std::vector<std::thread> threads;
  for (auto &mine : numbers)
    threads.emplace_back([&] {
      for (int i = 0; i < 300; ++i) mine.push_back(table->intern(std::to_string(i).c_str()));
    });
  for (std::thread &t : threads) t.join();
  for (const auto &mine : numbers) EXPECT_EQ(mine, numbers[0]);
  EXPECT_EQ(std::set<uint32_t>(numbers[0].begin(), numbers[0].end()).size(), 300u);
}

}  // namespace
}  // namespace vprof
