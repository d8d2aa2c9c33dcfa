#include "objects.h"

#include <gtest/gtest.h>

#include <memory>

#include "signals_of_conditions.h"

namespace vprof {
namespace {

TEST(Stamp, KeepsUidAndTimeWhateverTheirHighBits) {
  const uint32_t newest = 0x3000010;
  for (const uint32_t uid : {newest, newest - 1, newest - 0xfffff0}) {
    const uint64_t later = 0x123456789abcdef;
    const uint64_t stamp = Stamp::with_time(uid, later - 100000);
    EXPECT_EQ(Stamp::uid(stamp, newest), uid);
    EXPECT_TRUE(Stamp::has_time(stamp));
    EXPECT_EQ(Stamp::time(stamp, later), later - 100000);
  }
  EXPECT_FALSE(Stamp::has_time(Stamp::without_time(7)));
  EXPECT_EQ(Stamp::uid(0, newest), 0u);
}

TEST(Objects, UnknownUntilSomebodyWaits) {
  auto table = std::make_unique<ObjectTable>();
  EXPECT_EQ(table->find(42), nullptr);
  ObjectEntry *entry = table->add_waiter(42);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(table->find(42), entry);
  EXPECT_EQ(entry->waiters.load(), 1u);
  EXPECT_EQ(table->add_waiter(42), entry);
  EXPECT_EQ(entry->waiters.load(), 2u);
}

TEST(Objects, AFullTableForgetsObjectsNobodyWaitsFor) {
  auto table = std::make_unique<ObjectTable>();
  ObjectEntry *waited = table->add_waiter(1);
  for (uint64_t key = 2; key < 4 * ObjectTable::kEntries; ++key) {
    ObjectEntry *entry = table->claim(key);
    if (entry == nullptr) continue;
    EXPECT_EQ(entry->stamp.load(), 0u) << "a former object's stamp";
    entry->stamp.store(key);
  }
  EXPECT_EQ(table->find(1), waited);
}

// Waiters 1 to 3 of a condition variable, which began to wait at 100, 200 and 300.
class Signals : public testing::Test {
 protected:
  Signals() { entry_.waiters = 3; }

  bool signal(uint32_t uid, uint64_t ticks) { return leave_signal(entry_, Stamp::with_time(uid, ticks)); }
  uint32_t taken_by_who_waits_since(uint64_t began) { return Stamp::uid(take_signal(entry_, began, 5000), 9); }

  ObjectEntry entry_{};
};

TEST_F(Signals, EachWakesOneTheOldestFirst) {
  EXPECT_TRUE(signal(7, 1000) && signal(8, 2000));
  EXPECT_EQ(taken_by_who_waits_since(200), 7u);
  EXPECT_EQ(taken_by_who_waits_since(100), 8u);
  EXPECT_EQ(taken_by_who_waits_since(300), 0u);
}

TEST_F(Signals, NoneIsTakenThatCameBeforeTheWait) {
  EXPECT_TRUE(signal(7, 150) && signal(8, 250));
  EXPECT_EQ(taken_by_who_waits_since(300), 0u);
  EXPECT_EQ(taken_by_who_waits_since(200), 8u);
  EXPECT_EQ(taken_by_who_waits_since(100), 7u);
}

TEST_F(Signals, WhatComesWhenAllAreWokenWakesNobody) {
  EXPECT_TRUE(signal(7, 1000) && signal(7, 1001) && signal(7, 1002));
  EXPECT_FALSE(signal(8, 2000));
  for (const uint64_t began : {300, 200, 100}) EXPECT_EQ(taken_by_who_waits_since(began), 7u);
}

TEST_F(Signals, MoreWaitersThanPlacesLoseNothing) {
  entry_.waiters = 100;
  uint32_t left = 0;
  while (left < 100 && signal(7, 1000 + left)) ++left;
  EXPECT_EQ(left, ConditionState::kPlaces);
  forget_signals(entry_);
  EXPECT_TRUE(signal(8, 2000));
  EXPECT_EQ(taken_by_who_waits_since(100), 8u);
}

}  // namespace
}  // namespace vprof
